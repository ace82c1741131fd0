// Presets: the methods of configs/methods, by name.
#ifndef BANYAN_EXPERIMENTS_PLAN_PRESETS_H_
#define BANYAN_EXPERIMENTS_PLAN_PRESETS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"

namespace banyan {

// Returns the folder that holds configs/methods and models, as a path from
// where the program runs: the environment's BANYAN_HOME, or the nearest folder
// above the program's file, or above where it runs. Empty if there is none.
std::string HomeFolder();

// Returns the folder of the presets; empty if there is no home.
std::string PresetFolder();

// Returns the names of all presets, in alphabetical order.
std::vector<std::string> PresetNames();

// Reads the preset that stands at `value`: a name, such as eagle3, or a file
// beside the one that names it, whose path has a slash or ends in .yaml. Fails,
// at `value`, if there is none.
absl::StatusOr<Params> LoadPreset(const Params& value);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_PRESETS_H_
