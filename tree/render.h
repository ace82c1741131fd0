// Trees as pictures: text for terminals and logs, Graphviz, and SVG.
//
//   TreePicture picture = Picture(tree);
//   for (int node : verdict.path) picture.marked[node] = true;
//   std::string svg = ToSvg(picture);
//
// A picture is plain data, so a caller may replace token ids by their texts
// before drawing. Pure functions; texts may be any bytes: control characters
// are drawn as their Unicode pictures, bytes that are not UTF-8 as U+FFFD.
#ifndef BANYAN_TREE_RENDER_H_
#define BANYAN_TREE_RENDER_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tree/draft_tree.h"
#include "tree/optimize/shape.h"

namespace banyan {

// One entry a node in each list; `notes` and `marked` may be empty instead.
struct TreePicture {
  std::vector<int> parents;  // -1 for node 0; in depth-first order
  std::vector<std::string> labels;
  std::vector<std::string> notes;  // small, below the label; \n parts lines
  std::vector<bool> marked;        // drawn in another colour: an accepted path
  std::string title;
};

// A line a node below the title, with branches as the program `tree` draws
// them. A star follows a marked label; the lines of a note are joined by "; ".
std::string ToText(const TreePicture& picture);

// A Graphviz digraph.
std::string ToDot(const TreePicture& picture);

// A self-contained SVG document, readable on light and dark pages. Leaves stand
// in consecutive columns of one width and parents above the middle of their
// children, so a larger tree makes a wider picture, never a smaller text.
std::string ToSvg(const TreePicture& picture);

// Labels are token ids. A node's note names its trunk, the draw kind, its draws
// by number (from 1, in the order of time) and the mass each was drawn with;
// dropped draws are noted at the node where they were made.
TreePicture Picture(const DraftTree& tree);
// Labels are ranks; notes the probabilities that a path is accepted, as
// PathProbabilities gives them.
TreePicture Picture(const Shape& shape, absl::Span<const double> acceptance);

// The token paths from the root's children down to each node that is no probe,
// in depth-first order, as JSON: [[5],[5,2],[7]].
std::string PathsText(const DraftTree& tree);

}  // namespace banyan

#endif  // BANYAN_TREE_RENDER_H_
