// JointNumbers: what a policy of several drafters (cost_aware) is told of their
// acceptance, from tables of counts.
#ifndef BANYAN_EXPERIMENTS_PLAN_JOINT_COSTS_H_
#define BANYAN_EXPERIMENTS_PLAN_JOINT_COSTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/plan/costs.h"
#include "tree/optimize/joint_acceptance.h"

namespace banyan {

// As JointAcceptance reads them.
struct JointNumbers {
  JointAcceptance::Hazards alone;
  std::vector<double> together;
  JointAcceptance::Matrix agree_right, agree_wrong;
};

// The table of drafters that drafted one tree together, these and perhaps
// others, with the fewest draws at the root, of the fewest drafters; `question`
// says on what target and at which temperature. The error says which tables
// there are.
absl::StatusOr<AcceptanceTable> FindTogether(
    const Costs& costs, const CostQuestion& question,
    const std::vector<std::string>& labels);

// `alone` has a table of each drafter, `together` one of all of them, in any
// order. A single drafter has none together.
JointNumbers CountJointly(const std::vector<AcceptanceTable>& alone,
                          const AcceptanceTable* together,
                          const std::vector<std::string>& labels);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PLAN_JOINT_COSTS_H_
