// JointAcceptance: how often the tokens of several drafters are accepted that
// draw at one node, whichever of them draws first.
//
// Model. `together` is the distribution of R, the set of the drafters whose
// first draw at a reached node is the accepted token, as counted (the empty
// set: nobody's). Drafters fail on the same tokens, so it is far from what
// independent drafters would give. With T(A) the chance that the first draw of
// some drafter in A is accepted, D the drafters that drew at the node, u_d(r)
// the chance that d alone is right with its draw r, o_e the chance that e's
// first draw is accepted where d's is not, and c_e that one of e's later draws
// is where its first is not,
//
//   Gain of d's first draw  = (T(D + d) - T(D)) prod (1 - c_e),
//   Gain of its draw r      = u_d(r) prod (1 - o_e) (1 - c_e),
//
// over the e in D other than d. T of a single drafter is u_d(1), from counts of
// the drafter alone; of more it is the sum of `together` over the sets that
// meet A, and not less than that of one of them. So the order in which drafters
// draw changes what each gains, and not what they gain together.
//
// All gains of d change along a path as d's first draw alone does: with the
// number of tokens in a row that d had as well (its streak), and not with
// depth, since counts of a chain are of nodes whose whole path the drafter had.
// At a token that another drafter, e, drew d's streak goes on if d has the
// token too; the chance of it, unless it is known, is that d is right where e
// is. A Standing keeps the two likeliest cases: all of the path was d's too,
// with chance `on`, or what d drew itself since the last token of others.
//
// A token on which drafters agree is likelier. `agree_right[d][e]` is the
// chance that e's first token is d's where d's is accepted, `agree_wrong` where
// it is not; Given() puts them into the odds, each by itself.
#ifndef BANYAN_TREE_OPTIMIZE_JOINT_ACCEPTANCE_H_
#define BANYAN_TREE_OPTIMIZE_JOINT_ACCEPTANCE_H_

#include <cstddef>
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
  // drafters, that of drafter d alone at place 2^d; empty: a single drafter.
  static absl::Status Check(const Hazards& alone,
                            const std::vector<double>& together,
                            const Matrix& agree_right,
                            const Matrix& agree_wrong);

  JointAcceptance() = default;
  // Requires Check().
  JointAcceptance(const Hazards& alone, const std::vector<double>& together,
                  const Matrix& agree_right, const Matrix& agree_wrong);

  // What a drafter had of a node's path.
  struct Standing {
    double on = 1;
    int run = 0;
  };

  int drafters() const { return static_cast<int>(fades_.size()); }
  // How deep a drafter's draws were counted.
  int depths(int drafter) const {
    return static_cast<int>(fades_[static_cast<std::size_t>(drafter)].size());
  }
  // The chance that the next draw of a drafter at a reached node is accepted.
  // `fade`: FadeAt(); `draws`: how many each drafter has made there.
  double Gain(int drafter, double fade, absl::Span<const int> draws) const;
  // How likely a drafter's first draw at a node is, beside one at the root.
  double FadeAt(int drafter, int depth, const Standing& standing) const;
  // The chance that a drafter has the accepted token that `other` drew.
  double Agrees(int drafter, int other) const {
    return agrees_[static_cast<std::size_t>(drafter)]
                  [static_cast<std::size_t>(other)];
  }
  // A drafter's standing below a token that it drew, and that `other` drew.
  static Standing BelowOwn(const Standing& above) {
    return {.on = above.on, .run = above.run + 1};
  }
  Standing BelowOther(int drafter, const Standing& above, int other) const {
    return {.on = above.on * Agrees(drafter, other), .run = 0};
  }
  // The chance of a token of `drafter` that has it with `chance`, once it is
  // known which others have it as their first token (1), or another one (0), or
  // were not asked (-1).
  double Given(int drafter, double chance, absl::Span<const int> agrees) const;

 private:
  double Fade(int drafter, int streak) const;

  // By drafter: the chance that it is right with each draw; and by streak.
  std::vector<std::vector<double>> chances_;
  std::vector<std::vector<double>> fades_;
  // By drafter and draws that it made: the chance that none of the later ones
  // is right where its first is not.
  Matrix misses_;
  std::vector<double> totals_;  // by set: T
  // By drafter and other: the chance that the other's first is not right where
  // the drafter's is refused.
  Matrix others_miss_;
  Matrix agrees_;  // where the other's is accepted
  Matrix agree_right_, agree_wrong_;
};

}  // namespace banyan

#endif  // BANYAN_TREE_OPTIMIZE_JOINT_ACCEPTANCE_H_
