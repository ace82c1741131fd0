// CostAware: grows the tree of all drafters while it pays.
//
// Claim. A round that yields G tokens more than the one that it always yields,
// and takes C ms more than a pass of one row, is worth G - rate C, where `rate`
// is the tokens a millisecond that this text yields. Drafting what is worth
// most, whatever the texts, yields the most tokens a millisecond; the rate of
// the round itself in the place of the text's drafts too much where drafts are
// good and too little where they are poor.
//
// Gain. The chance that a draw is accepted is that of its node's path, times
// what JointAcceptance says of the draw after those that were made there, by
// how much of the path its drafter had too. Once the token is known,
// `confidence` of that chance is the drafter's own mass of the token, less what
// the draws before take of it; whether other drafters have the token as their
// first is put into the odds; and the chance is corrected by what came of draws
// of such mass on this text (below). A token that is not
// known yet is taken to be as easy as those of its path, in that share. Draws
// take tokens that are not at the node yet: a refused token is never accepted.
//
// Cost. The pass takes target_ms of the batch's rows. Asking a drafter takes
// its draft_ms, once for all nodes that it is asked for together.
//
// Rule. From the tree as it is, draws are added in thought, each time the one
// that is worth most, with the tokens that they may bring in turn; among all
// beginnings of that list the one worth most is wanted, so steps of target_ms
// are taken whole or not at all. If it is worth something, the nodes of the
// tree in it are asked for, and then drawn at, one draw a node; and so on from
// what was drawn.
//
// Where nothing is wanted of a bare root, a drafter is asked all the same if
// half of what a round that is easier than usual would be worth pays for it.
//
// State, by drafter and confidence (the drafter's mass of the token, in five
// classes): the accepted tokens, and how many were expected. Their ratio
// corrects the chances, and fades by 1 - 1 / memory a round. And tokens and
// milliseconds of the rounds so far, modelled: no clock is read, so a run that
// is resumed draws the same. Before there were rounds the rate is that of plain
// decoding.
#ifndef BANYAN_TREE_POLICIES_COST_AWARE_H_
#define BANYAN_TREE_POLICIES_COST_AWARE_H_

#include <memory>
#include <utility>
#include <vector>

#include "tree/growing_tree.h"
#include "tree/method_policy.h"
#include "tree/policies/draft_estimates.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"

namespace banyan {

class CostAware : public MethodPolicy {
 public:
  explicit CostAware(std::shared_ptr<const CostAwareModel> model)
      : estimates_(std::move(model)) {}

  PolicyTraits traits() const override;
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<CostAware>(*this);
  }
  std::vector<MethodExpansion> Next(const GrowingTree& tree) const override;
  void Observe(const RoundOutcome& outcome) override {
    estimates_.Observe(outcome);
  }
  std::vector<double> State() const override { return estimates_.State(); }

 private:
  DraftEstimates estimates_;
};

PolicyRow CostAwareRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_COST_AWARE_H_
