// AutoShape: chooses for each round the shape that is predicted to be fastest.
//
// Claim. Let the b-th draw at a node be the accepted one with probability p_b,
// the same at every node. Then FastestTree, for p and the measured costs, gives
// the shape with the most predicted tokens per millisecond, plain decoding
// included. Only p on this text is unknown beforehand; the rounds estimate it.
//
// Model. `acceptance` gives p on average. Texts differ by how often the
// drafter is right at all, so one number varies: with c_b = p_b / (1 - p_1 - ..
// - p_(b-1)), the chance of draw b once the earlier were refused, level t has
// the odds c_b / (1 - c_b) multiplied by 2^t, for t from -6 to 6 in halves. The
// fastest shape of every level is found once, when the policy is made.
//
// Rule. At the reached nodes that have draws of its trunk, count those of which
// a draw was accepted, and how many each level expected; the past fades by
// 1 - 1 / memory a node. A round's level is the one whose expectation is
// closest to the count, ties towards `acceptance`. Before the first round,
// t = 0: `acceptance` counts as two nodes of which its share was accepted. A
// level whose fastest shape is empty gives no more evidence about the text. So
// after `trial` rounds of it, and after twice as many each time that the trial
// was refused (up to 4 `trial`), one round drafts a single token. If no level
// is predicted to gain a tenth over plain decoding, there is no such trial.
//
// State: accepted, the levels' expectations, rounds without a draft, and the
// wait. The shape depends on the state alone, so it is fixed before the first
// draw.
#ifndef BANYAN_TREE_POLICIES_AUTO_SHAPE_H_
#define BANYAN_TREE_POLICIES_AUTO_SHAPE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tree/optimize/hardware.h"
#include "tree/optimize/shape.h"
#include "tree/policies/fixed_shape.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

struct AutoOptions {
  HardwareOptions hardware;
  int memory = 24;  // nodes
  int trial = 32;   // rounds: an idle drafter then reads that many tokens
};

class AutoShape : public TreePolicy {
 public:
  // Fails as FastestTree.
  static absl::StatusOr<std::unique_ptr<AutoShape>> Make(
      const AutoOptions& options);

  PolicyTraits traits() const override;
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<AutoShape>(*this);
  }
  std::vector<Expansion> Next(const TrunkTree& tree) const override;
  void Observe(const RoundOutcome& outcome) override;
  std::vector<double> State() const override;

  // The shape of the next round.
  const Shape& shape() const;

 private:
  struct Level {
    // [k]: the chance that one of k draws at a node is accepted.
    std::vector<double> accepted_of;
    Shape shape;
    FixedShape policy;
    double expected = 0;
  };

  explicit AutoShape(const AutoOptions& options);
  const Level& level() const;
  bool Tries() const;
  void Count(int draws, bool accepted);

  int memory_;
  int trial_;
  Shape single_;  // what a trial drafts
  FixedShape single_policy_;
  std::vector<Level> levels_;
  double most_speedup_ = 1;  // of all levels' shapes
  double accepted_ = 0;
  double idle_ = 0;  // rounds in a row without a draft
  double wait_;      // rounds without a draft before the next trial
};

PolicyRow AutoShapeRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_AUTO_SHAPE_H_
