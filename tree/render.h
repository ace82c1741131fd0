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

// One entry a node in each list; all but `parents` and `labels` may be empty
// instead.
struct TreePicture {
  std::vector<int> parents;  // -1 for node 0; before their children
  std::vector<std::string> labels;
  std::vector<std::string> notes;  // small, below the label; \n parts lines
  std::vector<bool> marked;        // drawn in another colour: an accepted path
  std::string title;
  // In SVG alone: a word for the node's look (TreeStyle has rules for
  // "refused", "off", "probe", "plain", "corrected", "bonus", "cut" and
  // "next"), a ring round the box for each of these trunks, and the text that a
  // reader who points at the node sees.
  std::vector<std::string> kinds;
  std::vector<std::vector<int>> rings;
  std::vector<std::string> hints;
};

// A line a node below the title, with branches as the program `tree` draws
// them. Requires nodes in depth-first order. A star follows a marked label; the
// lines of a note are joined by "; ".
std::string ToText(const TreePicture& picture);

// A Graphviz digraph.
std::string ToDot(const TreePicture& picture);

// Returns an SVG document, readable on light and dark pages. It grows from left
// to right as text does: leaves stand in consecutive rows of one height, and
// parents in front of the middle of their children, so a larger tree makes a
// larger picture, never a smaller text. Without its style it is smaller, and
// looks right on pages that have TreeStyle() in their own.
std::string ToSvg(const TreePicture& picture, bool with_style = true);
std::string TreeStyle();

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
