// Policies whose shape does not depend on what is drawn.
#ifndef BANYAN_TREE_POLICIES_FIXED_SHAPE_H_
#define BANYAN_TREE_POLICIES_FIXED_SHAPE_H_

#include <memory>
#include <vector>

#include "core/round/plan.h"
#include "tree/optimize/shape.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

// Draws, at every node, as many tokens as its place in the shape has children;
// the k-th draw takes the place of the k-th child. Two draws of one token lead
// to one node, which takes the place of the first of them and is expanded once.
// All nodes of a level are expanded together. With `share_draws` the first node
// of a level draws and the others use its draws again.
class FixedShape : public TreePolicy {
 public:
  explicit FixedShape(const Shape& shape, bool share_draws = false);

  PolicyTraits traits() const override;
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<FixedShape>(*this);
  }
  std::vector<Expansion> Next(const TrunkTree& tree) const override;
  std::optional<RoundShape> device_shape() const override;

 private:
  std::vector<std::vector<int>> children_;  // by place, in order of rank
  int levels_;
  bool share_draws_;
};

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_FIXED_SHAPE_H_
