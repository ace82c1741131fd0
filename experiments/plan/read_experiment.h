// Reads an experiment file. docs/formats.md describes the keys.
//
// Presets are methods' files. An axis of the matrix is a list of values for one
// setting, named by its path, or a map from labels to settings that change
// together; axes are crossed. An axis all of whose settings lie under
// `methods.NAME.` concerns that method alone. Every combination of the other
// axes and the seeds has its baseline: the same target, sampling and limits
// without drafters, once.
#ifndef BANYAN_EXPERIMENTS_PLAN_READ_EXPERIMENT_H_
#define BANYAN_EXPERIMENTS_PLAN_READ_EXPERIMENT_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/resolve.h"

namespace banyan {

// A setting from the command line: "path=value", the value in YAML.
absl::StatusOr<std::pair<std::string, Params>> ReadSetting(
    const std::string& text);

// Everything that can be known without opening a model is checked: unknown and
// missing keys, paths, ranges, names that come twice.
// Where the file says `measured`, what that stands for is left to Complete
// (measured.h).
absl::StatusOr<Experiment> ReadExperiment(const Params& file,
                                          const Settings& settings);
// The same, as far as it can be read: what is wrong is added to `errors`, and
// the rest is there, for more to be found wrong with it. A model of whose
// section no directory could be read has "" for one.
Experiment ReadExperiment(const Params& file, const Settings& settings,
                          Errors& errors);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_READ_EXPERIMENT_H_
