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
// Acceptance is the experiment's (acceptance.h), for such policies too; what
// they say of other costs or another calibration is dropped.
#ifndef BANYAN_EXPERIMENTS_PLAN_MEASURED_H_
#define BANYAN_EXPERIMENTS_PLAN_MEASURED_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/model_spec.h"

namespace banyan {

// What has to be timed for an experiment, in an order that its file fixes.
struct CostPlan {
  std::vector<ModelSpec> targets;
  int rows = 1;  // of the largest pass that anything may choose
  // A chain of one drafter each, of kProbeLevels, without a baseline. Their
  // names are unique.
  std::vector<ExperimentCell> probes;
};

// Milliseconds of a target's pass by its tokens.
struct PassCosts {
  std::string weights;  // in memory
  std::map<int, double> ms;
};

// Milliseconds of a level that a drafter drafts, beside the target's pass.
struct LevelMs {
  std::string draws;  // of the probe's trunk
  double ms = 0;
};

struct MachineCosts {
  std::vector<PassCosts> passes;  // by target of the plan
  std::vector<LevelMs> levels;    // by probe
};

inline constexpr int kProbeLevels = 4;

// Whether a policy of its cells says `measured`.
bool HasMeasured(const Experiment& experiment);

// Fails where one size would have to do for several drafters, and as
// FindAcceptance.
absl::StatusOr<CostPlan> PlanCosts(const Experiment& experiment);

// Puts the choices in, and the cells of the chains; says in the experiment's
// notes what was chosen. Fails as FindAcceptance, FastestTree and AddOpponents.
// Requires the costs of all that PlanCosts names.
absl::Status Complete(const MachineCosts& costs, Experiment& experiment);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_MEASURED_H_
