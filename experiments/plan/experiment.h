// An experiment file: a pure description of what to run, expanded into cells.
// docs/formats.md describes the keys.
//
// Presets are methods' files. An axis of the matrix is a list of values for one
// setting, named by its path, or a map from labels to settings that change
// together; axes are crossed. An axis all of whose settings lie under
// `methods.NAME.` concerns that method alone. Every combination of the other
// axes and the seeds has its baseline: the same target, sampling and limits
// without drafters, once.
#ifndef BANYAN_EXPERIMENTS_PLAN_EXPERIMENT_H_
#define BANYAN_EXPERIMENTS_PLAN_EXPERIMENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/errors.h"
#include "core/base/params.h"
#include "experiments/plan/acceptance.h"
#include "experiments/plan/compare.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/model_spec.h"
#include "experiments/plan/resolve.h"

namespace banyan {

struct WorkloadSpec {
  std::string file;
  std::vector<std::string> kinds;  // empty: all
  int prompts = 0;                 // evenly spread over them; 0: all
  int offset = 0;                  // moves every prompt this many places on
  // The template that prompts are written as chats in: a name, or `auto` for
  // the target's own. Empty: no chats.
  std::string chat;
  // Kinds of prompts that are reported as one, by its name.
  std::map<std::string, std::vector<std::string>> groups = {};
  Params section = {};  // that all this was read from
};

// What `chat` says for the target's own template.
inline constexpr char kOwnTemplate[] = "auto";

// Why one cell is held against another (opponents.h).
enum class OpponentRole {
  kReference,  // it is what the experiment compares its rivals with
  kSameNodes,  // a chain of one of its drafters, of as many nodes
  kFastest,    // such a drafter's fastest chain
  // A neighbouring length of the predicted chain that precedes this opponent.
  kNeighbour,
};

struct Opponent {
  int cell = 0;
  OpponentRole role = OpponentRole::kReference;
};

struct ExperimentCell {
  std::string name;  // unique
  std::string method;
  std::vector<std::pair<std::string, std::string>> axes;
  MethodSpec spec;  // without drafters for a baseline
  ModelSpec target;
  Origin target_place;  // where its directory was written
  std::vector<Params::Entry> sampling;
  int max_new_tokens = 0;
  bool ignore_eos = false;
  int batch = 1;  // prompts decoded at a time
  std::uint64_t seed = 0;
  int baseline = 0;  // a cell; its own number if it is one
  // Cells of one combination of the axes that concern all methods, which are
  // the first `shared_axes` of `axes`.
  int combination = 0;
  std::size_t shared_axes = 0;
  std::vector<Opponent> opponents;  // none: nobody's rival
};

double TemperatureOf(const ExperimentCell& cell);

// "chain, nodes=8".
std::string CellName(
    const std::string& method,
    const std::vector<std::pair<std::string, std::string>>& axes);

struct Experiment {
  std::string question;
  WorkloadSpec workload;
  std::vector<ExperimentCell> cells;
  std::string resolved;  // YAML: presets and settings put in
  std::string hash;      // of that
  std::optional<CompareSpec> compare;
  std::vector<AcceptanceTable> acceptance;
  // Something depends on this machine's costs: Complete (measured.h) has yet to
  // put it in.
  bool measured = false;
  // Why the reference is the reference, as the end of a sentence; empty where
  // nothing is compared.
  std::string reference_choice;
  std::vector<std::string> notes;  // what a reader should know
};

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

#endif  // BANYAN_EXPERIMENTS_PLAN_EXPERIMENT_H_
