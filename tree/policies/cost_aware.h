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
// what JointAcceptance says of the draw after those that were made there, times
// how much likelier draws of such confidence are on this text (below). Draws
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
// State, by drafter and confidence (the drafter's mass of the token, in five
// classes): the accepted tokens, and how many were expected. Their ratio
// corrects the chances, and fades by 1 - 1 / memory a round. And tokens and
// milliseconds of the rounds so far, modelled: no clock is read, so a run that
// is resumed draws the same. Before there were rounds the rate is that of plain
// decoding.
#ifndef BANYAN_TREE_POLICIES_COST_AWARE_H_
#define BANYAN_TREE_POLICIES_COST_AWARE_H_

#include <array>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "tree/growing_tree.h"
#include "tree/method_policy.h"
#include "tree/optimize/joint_acceptance.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"

namespace banyan {

// What does not change from round to round.
struct CostAwareModel {
  int nodes = 64;
  int levels = 0;  // 0: no limit
  int memory = 64;
  JointAcceptance acceptance;
  // By drafted nodes of a sequence, up to `nodes`: ms of the batch's pass,
  // divided by the batch.
  std::vector<double> target_ms;
  std::vector<double> draft_ms;  // by drafter: of a level, likewise
};

class CostAware : public MethodPolicy {
 public:
  static constexpr int kClasses = 5;

  explicit CostAware(std::shared_ptr<const CostAwareModel> model);

  PolicyTraits traits() const override;
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<CostAware>(*this);
  }
  std::vector<MethodExpansion> Next(const GrowingTree& tree) const override;
  void Observe(const RoundOutcome& outcome) override;
  std::vector<double> State() const override;

 private:
  struct Running {
    double accepted = 0;
    double expected = 0;
  };
  // By class, and of all.
  using OfDrafter = std::array<Running, kClasses + 1>;

  double Correction(int drafter, int of_class) const;
  // The chance of a draw of this mass; of no known one where it is negative.
  double Corrected(int drafter, double chance, double mass) const;
  double rate() const;

  friend class CostAwarePlan;

  std::shared_ptr<const CostAwareModel> model_;
  std::vector<OfDrafter> running_;
  double tokens_ = 0;
  double ms_ = 0;
};

PolicyRow CostAwareRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_COST_AWARE_H_
