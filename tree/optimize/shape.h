// Shape: a draft tree without its tokens: which node is whose which child.
//
// Node 0 is the root, the last committed token. Nodes stand in depth-first
// order, so parents come before children, and siblings stand in the order of
// their ranks: rank 1 is drawn first. Ranks are never skipped, hence the
// parents alone say everything.
//
// What comes from outside (paths, branching, acceptances) fails with a status;
// a Shape handed to a function is required to be valid. Everything is a pure
// function.
#ifndef BANYAN_TREE_OPTIMIZE_SHAPE_H_
#define BANYAN_TREE_OPTIMIZE_SHAPE_H_

#include <vector>

#include "core/base/common.h"

namespace banyan {

struct Shape {
  // What FromBranching builds at most: a mistyped branching asks for billions.
  static constexpr int kMaxNodes = 1 << 20;

  std::vector<int> parents = {-1};  // a bare root

  int size() const { return static_cast<int>(parents.size()); }

  // From lists of child ranks counted from 0, as Medusa publishes its trees;
  // the root's empty path is not listed. The order of the paths does not
  // matter. An error names the path that is empty, given twice, negative
  // somewhere, lacks a prefix or skips a rank.
  static absl::StatusOr<Shape> FromPaths(std::vector<std::vector<int>> paths);
  // From parents in any order that has parents before children and siblings by
  // rank. Requires parents[0] == -1.
  static Shape FromParents(absl::Span<const int> parents);
  // `nodes` nodes below the root in one line. Requires nodes >= 0.
  static Shape Chain(int nodes);
  // Every node of level i, the root being level 0, has branching[i] children.
  // An error if one is below 1 or the tree exceeds kMaxNodes.
  static absl::StatusOr<Shape> FromBranching(absl::Span<const int> branching);
};

// Per node: its distance from the root.
std::vector<int> Depths(const Shape& shape);
// Per node: which child of its parent it is, from 1; 0 for the root.
std::vector<int> Ranks(const Shape& shape);
// Per node: its children by rank.
std::vector<std::vector<int>> Children(const Shape& shape);
// The largest depth; 0 for a bare root.
int Height(const Shape& shape);
// The inverse of Shape::FromPaths, in depth-first order.
std::vector<std::vector<int>> ToPaths(const Shape& shape);

// OK if every entry lies in [0, 1] and they sum to at most 1 + 1e-9: they are
// the probabilities of events of which at most one occurs. `what` names the
// list in the message.
absl::Status CheckAcceptance(absl::Span<const double> acceptance,
                             absl::string_view what);
// Per node: the product of the acceptances of the ranks along its path; 1 for
// the root. acceptance[r - 1] belongs to rank r; ranks beyond it have none.
std::vector<double> PathProbabilities(const Shape& shape,
                                      absl::Span<const double> acceptance);
// Their sum: the tokens one target pass is expected to yield, the one it always
// yields counted at the root.
double ExpectedTokens(const Shape& shape, absl::Span<const double> acceptance);

// A shape with its expected tokens.
struct RatedShape {
  Shape shape;
  double expected_tokens = 1;
};

}  // namespace banyan

#endif  // BANYAN_TREE_OPTIMIZE_SHAPE_H_
