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
// its next, so no node is counted twice. What a drafter's draws below a node
// are worth depends on what it had of the node's path (Standing): its own
// tokens, and, by the chance that it has them too, those of others. So the
// children of a token that two drafters have are worth more to both.
//
// Cost. A drafter whose deepest draw makes a token of depth d is asked for d
// levels, since it is asked for the nodes above as well. It draws no deeper
// than its acceptance was counted to.
//
// Method. For given numbers of levels of the drafters, each node's next draw is
// that of the drafter, of those that draw so deep, whose draw's reach and that
// of the likeliest tokens below it are largest together; of none to three
// tokens below, all four tried. Nodes are added one by one, each time the next
// draw of largest reach. No draw is likelier than its node, so the first n are
// the likeliest n in this order of draws, and one such list gives a shape of
// every size. The numbers of levels, up to 16, are searched two drafters at a
// time, others held, until no two improve; from the best of each two alone.
//
// Cases. This is no search of all shapes; a test holds it to within 1 % of the
// best of all shapes of 8 nodes on measured costs, and found them equal. At
// least one node is drafted: where nothing is faster than plain decoding the
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

// A node while draws are made at it.
struct JointPlace {
  double reach = 1;
  int depth = 0;
  std::vector<int> draws;  // by drafter
  std::vector<JointAcceptance::Standing> standings;
};
JointPlace JointRoot(int drafters);
// The chance that a place's next draw of a drafter is accepted, once the place
// is reached.
double NextGain(const JointPlace& place, int drafter,
                const JointAcceptance& acceptance);
// Makes that draw, and returns its node.
JointPlace DrawAt(JointPlace& place, int drafter,
                  const JointAcceptance& acceptance);

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
