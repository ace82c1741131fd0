// JointAcceptance: how often the tokens of several drafters are accepted that
// draw at one node, whichever of them draws first.
//
// Model. At a reached node the target takes one token. Let R be the set of the
// drafters that have it among their first draws there. `together` is the
// distribution of R, as counted; the empty set: none has it. The number of the
// draw at which a drafter has it, once it is in R, follows the drafter's own
// counts, and does not depend on the other drafters. So the chance that draw r
// of drafter d is the accepted one, given what the others drew, is
//
//   Gain = w_d(r) sum over S with d in S of P(S)
//                 product over the others e in S of (1 - f_e),
//
// with w_d(r) the share of d's accepted tokens that are its draw r, and f_e the
// share of e's that stand among the draws that e has made. The gains of a
// node's draws are chances of events that exclude each other: they add up to
// the chance that one of them is accepted, in any order of drawing.
//
// With depth all sets of d fade as d's first draw alone does.
//
// A token on which drafters agree is likelier. `agree_right[d][e]` is the
// chance that e's first token is d's where d's is accepted, `agree_wrong` where
// it is not; Given() puts them into the odds, each by itself.
#ifndef BANYAN_TREE_OPTIMIZE_JOINT_ACCEPTANCE_H_
#define BANYAN_TREE_OPTIMIZE_JOINT_ACCEPTANCE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace banyan {

class JointAcceptance {
 public:
  static constexpr int kMostDrafters = 8;

  // By drafter, depth (from 1) and draw: the chance that it is accepted once
  // those before it were refused. What is deeper is as the deepest one given.
  using Hazards = std::vector<std::vector<std::vector<double>>>;
  using Matrix = std::vector<std::vector<double>>;

  // OK, or which number is wrong. `together` has a number for each set of
  // drafters, the set of drafter d alone at place 2^d; empty: a single drafter.
  static absl::Status Check(const Hazards& alone,
                            const std::vector<double>& together,
                            const Matrix& agree_right,
                            const Matrix& agree_wrong);

  JointAcceptance() = default;
  // Requires Check().
  JointAcceptance(const Hazards& alone, const std::vector<double>& together,
                  const Matrix& agree_right, const Matrix& agree_wrong);

  int drafters() const { return static_cast<int>(fades_.size()); }
  // The chance that the next draw of a drafter at a reached node is accepted.
  // `depth` is the drawn token's; `draws` how many each drafter has made there.
  double Gain(int drafter, int depth, absl::Span<const int> draws) const;
  // The chance of a token of `drafter` that has it with `chance`, once it is
  // known which others have it as their first token (1), or another one (0), or
  // were not asked (-1).
  double Given(int drafter, double chance, absl::Span<const int> agrees) const;

 private:
  double Share(int drafter, int draws) const;
  double Fade(int drafter, int depth) const;

  // By drafter: the shares of its draws among what it has right; and by depth.
  std::vector<std::vector<double>> shares_;
  std::vector<std::vector<double>> fades_;
  std::vector<double> together_;
  Matrix agree_right_, agree_wrong_;
};

}  // namespace banyan

#endif  // BANYAN_TREE_OPTIMIZE_JOINT_ACCEPTANCE_H_
