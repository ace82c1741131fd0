// Joint: one fixed shape for the tree of all drafters.
#ifndef BANYAN_TREE_POLICIES_JOINT_H_
#define BANYAN_TREE_POLICIES_JOINT_H_

#include <memory>
#include <vector>

#include "tree/growing_tree.h"
#include "tree/method_policy.h"
#include "tree/optimize/joint_shape.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"

namespace banyan {

// Draws, at every node, what its place in the shape says, one draw after
// another, each of a token that was not drawn there yet. A drafter that has
// nothing left to draw at a node leaves its places there out; the others'
// tokens keep theirs. All nodes of a level are drawn at together.
class Joint : public MethodPolicy {
 public:
  // `drafters`: how many the method has.
  Joint(const JointShape& shape, int drafters);

  PolicyTraits traits() const override;
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<Joint>(*this);
  }
  std::vector<MethodExpansion> Next(const GrowingTree& tree) const override;

 private:
  JointShape shape_;
  std::vector<std::vector<int>> children_;  // by place, in the order of draws
  int drafters_;
};

// The shape of largest predicted speed (tree/optimize/joint_shape.h), from
// acceptance and costs of all drafters.
PolicyRow JointRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_JOINT_H_
