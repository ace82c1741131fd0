// The shape of the tree of several drafters of largest predicted speed.
//
// Claim. Of the shapes in which every node is a draw of one drafter, and draws
// at a node are made one after another, each of a token that is not there yet,
// the search looks for the one with the most tokens a millisecond,
//
//   (1 + sum over the nodes of their reach) / (pass + sum over the drafters of
//                                              their levels times a level's).
//
// Value. A node's reach is that of its parent times JointAcceptance::Gain of
// its draw after those that were made at the parent before it. Where two
// drafters have the same token, the first in time draws it and the other one
// its next, so no node is counted twice. A node is worth what it is worth
// whoever drew it: its children's draws may be of any drafter, also of those
// that did not draw it, and a second drafter that would have drawn the node too
// makes its children no likelier. That is what the counts of `together` are
// for, of all depths at once; beliefs of single tokens are cost_aware's.
//
// Cost. A drafter whose deepest draw makes a token of depth d is asked for d
// levels, since it is asked for the nodes above as well. It draws no deeper
// than its acceptance was counted to.
//
// Method. For given numbers of levels of the drafters, draws at a node of depth
// k are ordered by their gain, largest first, of the drafters that reach that
// far. With p_k,b the gain of the b-th of them, F_k(n) the largest sum of n
// nodes below a node of depth k, and D the most levels,
//
//   (1) F_D(0) = 0, and F_D(n) = -infinity for n > 0;
//   (2) G_k(0, 0) = 0;
//   (3) G_k(n, b) = max over m >= 1 of
//         G_k(n - m, b - 1) + p_k,b (1 + F_{k+1}(m - 1));
//   (4) F_k(n) = max over b of G_k(n, b).
//
// (1) to (4) give the best of every size for these levels. The levels are
// searched one drafter at a time, others held, until none improves; from no
// levels, and from each drafter's best alone.
//
// Cases. The order by gain is the best order where drafters fail apart; a test
// holds the search to within 1 % of all shapes of 8 nodes on measured costs.
// At least one node is drafted: where nothing is faster than plain decoding the
// speedup is below 1.
//
// Ties: the fewest nodes, then the levels found first.
#ifndef BANYAN_TREE_OPTIMIZE_JOINT_SHAPE_H_
#define BANYAN_TREE_OPTIMIZE_JOINT_SHAPE_H_

#include <vector>

#include "tree/optimize/hardware.h"
#include "tree/optimize/joint_acceptance.h"
#include "tree/optimize/shape.h"

namespace banyan {

// Drafters, and what they cost.
struct JointModel {
  int nodes = 64;  // at most
  int levels = 0;  // at most; 0: no limit
  JointAcceptance acceptance;
  // By drafted nodes of a sequence, up to `nodes`: ms of the batch's pass,
  // divided by the batch.
  std::vector<double> target_ms;
  std::vector<double> draft_ms;  // by drafter: of a level, likewise
};

// A shape, and whose draw each node is; -1 of the root. Children stand in the
// order of their draws.
struct JointShape {
  Shape shape;
  std::vector<int> drafters = {-1};
};

// By node: the chance that it is accepted.
std::vector<double> ReachOf(const JointShape& shape,
                            const JointAcceptance& acceptance);
// By drafter: the levels that it is asked for.
std::vector<int> LevelsOf(const JointShape& shape, int drafters);
// What the model predicts of a shape.
HardwareChoice Predict(const JointShape& shape, const JointModel& model);

JointShape FastestJointShape(const JointModel& model);

}  // namespace banyan

#endif  // BANYAN_TREE_OPTIMIZE_JOINT_SHAPE_H_
