// K independent chains, merged where they agree.
#ifndef BANYAN_TREE_POLICIES_SEQUENCES_H_
#define BANYAN_TREE_POLICIES_SEQUENCES_H_

#include <memory>
#include <vector>

#include "core/round/plan.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

// `width` chains of `levels` tokens, each drawn on its own. Chains that agree
// share their nodes, and at a shared node each still makes its own draw: a node
// gets as many draws as led to it.
class Sequences : public TreePolicy {
 public:
  Sequences(int width, int levels) : width_(width), levels_(levels) {}

  PolicyTraits traits() const override;
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<Sequences>(*this);
  }
  std::vector<Expansion> Next(const TrunkTree& tree) const override;
  std::optional<RoundShape> device_shape() const override {
    return SequencesShape{width_, levels_};
  }

 private:
  int width_;
  int levels_;
};

PolicyRow SequencesRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_SEQUENCES_H_
