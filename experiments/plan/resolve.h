// An experiment's file with settings and presets put in.
#ifndef BANYAN_EXPERIMENTS_PLAN_RESOLVE_H_
#define BANYAN_EXPERIMENTS_PLAN_RESOLVE_H_

#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"

namespace banyan {

// Paths and values, in the order in which they are put in.
using Settings = std::vector<std::pair<std::string, Params>>;

// The name of a baseline's method.
inline constexpr char kPlainMethod[] = "plain";
// And of the baseline's second run.
inline constexpr char kPlainRepeated[] = "plain_2";

// "methods.chain.preset", "base".
bool IsPreset(absl::string_view path);

// Presets stand under what is laid upon them, and what the file that `base`
// names under the experiment's own: target, models and methods, and so on down
// its bases. A method has the models of base and experiment that its drafters
// name. Settings come last, but for those of base and presets. Fails on a base
// or preset that cannot be read, on a path that leads nowhere, on a method left
// out that no base has, and on one with the baseline's name.
absl::StatusOr<Params> Resolve(const Params& file, const Settings& settings);

// The same where every text with a slash or a dot that names something beside
// the file it stands in, or from where the program runs, names it from the
// folder of `file`: so that it can be read as one file there.
Params AsNamedFrom(const Params& value, const Params& file);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_RESOLVE_H_
