// What `banyan list` says of the presets.
#ifndef BANYAN_EXPERIMENTS_PLAN_PRESET_LIST_H_
#define BANYAN_EXPERIMENTS_PLAN_PRESET_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace banyan {

// Greedy, against plain decoding of the same target (docs/presets.md).
struct MeasuredPreset {
  std::string target;
  double tokens_per_pass = 0;
  double speedup = 0;
  double low = 0;  // of a 95 % interval
  double high = 0;
};

struct PresetFacts {
  std::string name;
  std::string file;
  std::string sentence;  // the comment that opens the file
  std::vector<std::string>
      drafters;                      // what it needs, as made_for.json calls it
  std::vector<std::string> others;   // folders that are made for no target
  std::vector<std::string> targets;  // for which all of its drafters ship
  std::vector<MeasuredPreset> measured;
};

// Returns all presets, in alphabetical order. Fails on a file that cannot be
// read.
absl::StatusOr<std::vector<PresetFacts>> ListPresets();

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_PRESET_LIST_H_
