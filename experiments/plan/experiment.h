// Experiment: a pure description of what to run, expanded into cells, as
// read_experiment.h reads it from a file.
//
// A setting is what cells share that differ in their seeds alone.
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
#include "core/base/params.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/method_spec.h"

namespace banyan {

// What an experiment's `compare` says.
struct CompareSpec {
  // A method; empty: of the chains given or predicted, the fastest that some
  // rival's drafter can make; without chains the baseline.
  std::string reference;
  Origin reference_place;
  std::vector<std::string> rivals;  // empty: all methods but the reference
  std::vector<ChainLength> chains;
  bool measured = false;   // `chains: measured`: lengths are predicted
  bool neighbours = true;  // those of predicted lengths run too
  bool same_size = true;   // so do chains of as many nodes as a tree has
  // At temperatures above 0 trees run by traversal verification too, and chains
  // that block verification judges by multi_round too.
  bool verifiers = true;
};

// `methods` are the experiment's. Fails on names it does not have.
absl::StatusOr<CompareSpec> ReadCompare(const Params& section,
                                        const Params& methods);

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
  Costs costs;  // that the file states: `measured` takes its acceptance
  // Something depends on this machine's costs: Complete (measured.h) has yet to
  // put it in.
  bool measured = false;
  // Why the reference is the reference, as the end of a sentence; empty where
  // nothing is compared.
  std::string reference_choice;
  std::vector<std::string> notes;  // what a reader should know
  // The sizes that were chosen by predicted speed, a sentence each.
  std::vector<std::string> predictions;
};

// The setting of a cell: what cells share that differ in their seeds alone, or
// whose axis labels change only other methods.

// All that a cell decodes by except its seed, as a text. Two cells of one
// setting have the same method from the same places of the same files, so what
// is wrong with one is wrong with the other in the same words.
std::string SettingOf(const ExperimentCell& cell);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_EXPERIMENT_H_
