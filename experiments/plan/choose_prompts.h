// Which prompts of a workload an experiment takes.
#ifndef BANYAN_EXPERIMENTS_PLAN_CHOOSE_PROMPTS_H_
#define BANYAN_EXPERIMENTS_PLAN_CHOOSE_PROMPTS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/workload.h"

namespace banyan {

// Gives the prompts of every group's kinds the group's name as their kind.
// Fails on a kind that no prompt has, or that two groups name.
absl::Status GroupKinds(const WorkloadSpec& spec, Workload& workload);

// The prompts that an experiment takes of a workload: those of its kinds, and
// of these as many as it wants, evenly spread and `offset` later. Their
// numbers.
absl::StatusOr<std::vector<int>> ChoosePrompts(const WorkloadSpec& spec,
                                               const Workload& workload);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_CHOOSE_PROMPTS_H_
