// MethodPolicy: decides the shape of the tree of all drafters of a method, who
// may take turns at one node and go on below each other's tokens.
//
// Drafting (drafters/drafting.h) asks it as it asks a policy of one trunk. The
// rule of tree_policy.h holds over all drafters and in the order of time: what
// is drawn next may depend on everything drawn before, by whichever drafter,
// and a draw once made stays. Verifiers judge in that order.
//
// Every trunk of the method has one, in the same state; the first one's is
// asked.
#ifndef BANYAN_TREE_METHOD_POLICY_H_
#define BANYAN_TREE_METHOD_POLICY_H_

#include <vector>

#include "tree/growing_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

struct MethodExpansion {
  int drafter = 0;
  int node = 0;  // of the merged tree
  int draws = 1;
  double keep_at_least = 0;  // as Expansion has it
  // Draws nothing that was drawn at the node, by whichever drafter: from what
  // the proposal has left without these tokens, by which the draw is judged.
  // Where nothing is left the drafter may draw there no more.
  bool new_tokens = false;
};

class MethodPolicy : public TreePolicy {
 public:
  // What to draw next, in this order. Depends on the tree and on committed
  // state only. Names nodes at which the drafter may draw
  // (GrowingTree::MayDraw). Where a drafter has no proposal it is asked, for
  // the nodes above too, and Next is called again.
  virtual std::vector<MethodExpansion> Next(const GrowingTree& tree) const = 0;

  const MethodPolicy* of_method() const final { return this; }

 private:
  std::vector<Expansion> Next(const TrunkTree& tree) const final;
};

}  // namespace banyan

#endif  // BANYAN_TREE_METHOD_POLICY_H_
