// What policies of all drafters read of drafters' acceptance and costs.
#ifndef BANYAN_TREE_POLICIES_JOINT_KEYS_H_
#define BANYAN_TREE_POLICIES_JOINT_KEYS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "tree/optimize/joint_acceptance.h"
#include "tree/optimize/joint_shape.h"
#include "tree/tree_policy.h"

namespace banyan {

// The values of these keys.
struct JointSection {
  int nodes = 64;
  int levels = 0;
  int batch = 1;
  const Params* target_ms = nullptr;
  std::vector<double> draft_ms;
  JointAcceptance::Hazards alone;
  std::vector<double> together;
  JointAcceptance::Matrix agree_right, agree_wrong;
};

// `Section` is a JointSection, or has its members from one.
template <typename Section>
void AddSizeKeys(Keys<Section>& keys) {
  keys.Between("nodes", &Section::nodes, 1, kMaxDraws,
               "The most nodes of a round.");
  keys.AtLeast("levels", &Section::levels, 0, "The most levels; 0: no limit.");
}
template <typename Section>
void AddJointKeys(Keys<Section>& keys) {
  keys.AtLeast("batch", &Section::batch, 1, "Prompts that share the passes.");
  keys.Described("target_ms", "map of tokens to ms",
                 "The milliseconds of a target pass by its tokens.");
  keys.Optional("draft_ms", &Section::draft_ms,
                "By drafter: the milliseconds of a level.");
  keys.Optional("alone", &Section::alone,
                "By drafter, depth and draw: the chance that a draw is "
                "accepted once the drafter's draws before it were refused.");
  keys.Optional("together", &Section::together,
                "By set of drafters (drafter d counts 2^d): the chance that "
                "these, and no others, have the accepted token.");
  keys.Optional("agree_right", &Section::agree_right,
                "By drafter and other: the chance that the other one's first "
                "token is the drafter's, where that is accepted.");
  keys.Optional("agree_wrong", &Section::agree_wrong,
                "The same where it is refused.");
}

// Takes `target_ms`, finishes the reading and returns what was read. An error
// names the key that is missing or wrong.
absl::StatusOr<JointModel> ReadJoint(ParamsReader& in,
                                     const JointSection& section);

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_JOINT_KEYS_H_
