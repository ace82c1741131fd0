// The shape of each round chosen by what would be fastest.
//
// Claim. If the b-th draw at a node is the accepted one with probability p_b,
// whatever the node, the shape of largest predicted tokens a millisecond is
// FastestTree's for p and the measured costs, plain decoding included. What is
// not known beforehand is p on this text; it is followed as the rounds go.
//
// Model. A calibration gives p on average. Texts differ by how far the drafter
// is right at all, so one number varies: with c_b = p_b / (1 - p_1 - .. -
// p_(b-1)), the chance of draw b once the earlier were refused, level t has the
// odds c_b / (1 - c_b) multiplied by 2^t, for t from -6 to 6 in halves. Every
// level's fastest shape is found once, when the policy is made.
//
// Rule. At the reached nodes that have draws of its trunk, count those of which
// a draw was accepted, and how many each level expected; the past fades by
// 1 - 1 / memory a node. A round's level is the one that expected the count
// most closely, ties towards the calibration; before the first round, t = 0:
// the calibration counts as two nodes of which its share was accepted. A level
// whose fastest shape is none says nothing more about the text: after `trial`
// rounds of it, and after twice as many each time that the trial was refused
// (up to 4 `trial`), one round drafts a single token. Where not even the
// highest level is predicted to gain a tenth over plain decoding, none does.
//
// State: accepted, the levels' expectations, rounds without a draft, and the
// wait. The shape depends on it alone, so it is fixed before the first draw.
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
  int trial = 32;   // rounds: a drafter that idled has so many tokens to read
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
  void SetState(const std::vector<double>& state) override;

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
  double wait_;      // so many, then a trial
};

PolicyRow AutoShapeRow();

}  // namespace banyan

#endif  // BANYAN_TREE_POLICIES_AUTO_SHAPE_H_
