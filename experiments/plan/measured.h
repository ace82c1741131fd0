// Replaces `measured` in an experiment by values predicted from this machine's
// costs.
//
//   compare.chains: measured   for each drafter of a rival, the chain length of
//                              largest predicted speed (tree/optimize/chain.h)
//   nodes: measured            the size of the tree of largest predicted speed
//                              (hardware.h) and, unless it is stated, the
//                              number of its levels; for policies with both
//                              keys
//   target_ms: measured        the curve of passes and draft_ms, for policies
//                              that take costs
//
// Acceptance is that of the experiment's costs (costs.h), for such policies
// too; what they say of other costs is dropped.
#ifndef BANYAN_EXPERIMENTS_PLAN_MEASURED_H_
#define BANYAN_EXPERIMENTS_PLAN_MEASURED_H_

#include <string>
#include <vector>

#include "core/base/common.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/method_spec.h"

namespace banyan {

// What has to be timed for an experiment, in an order that its file fixes.
struct CostPlan {
  std::vector<ModelSpec> targets;
  int rows = 1;  // of the largest pass that anything may choose
  // A chain of one drafter each, of kProbeLevels, without a baseline. Their
  // names are unique.
  std::vector<ExperimentCell> probes;
};

inline constexpr int kProbeLevels = 4;

// Whether a policy of its cells says `measured`.
bool HasMeasured(const Experiment& experiment);

// Fails where one size would have to do for several drafters, and as
// FindAcceptance.
absl::StatusOr<CostPlan> PlanCosts(const Experiment& experiment);

// What `banyan measure` counts of the drafters of an experiment.
struct CountOptions {
  int levels = 16;  // of chains
  int ranks = 8;    // draws at a node
};

// All drafters of an experiment, for tables of costs.
struct DrafterPlan {
  CostPlan times;  // of every target and of every drafter alone
  // The cells whose records are counted: of every drafter alone a chain and a
  // tree of one level, with the kind of draws and the verifier of its method;
  // and each method of several drafters as it is.
  std::vector<ExperimentCell> counted;
};
// Fails where a method of several drafters leaves a size to the machine.
absl::StatusOr<DrafterPlan> PlanDrafters(const Experiment& experiment,
                                         const CountOptions& options);

// A cell of `counted` with the tree that shows the candidates of its drafter's
// heads (HeadsSection).
ExperimentCell HeadsCell(const ExperimentCell& cell, int heads, int ranks);

// Puts the choices in, and the cells of the chains; says in the experiment's
// notes what was chosen. Fails as FindAcceptance, FastestTree and AddOpponents.
// Requires the passes of the plan's targets and the levels of its probes, in
// their order.
absl::Status Complete(const Costs& costs, Experiment& experiment);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_MEASURED_H_
