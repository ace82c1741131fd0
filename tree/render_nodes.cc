#include "tree/render_nodes.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "tree/render.h"

namespace banyan {
namespace {

void CheckLists(const TreePicture& picture) {
  const std::size_t size = picture.parents.size();
  Check(size > 0 && picture.parents[0] == -1, "node 0 is the root");
  Check(picture.labels.size() == size, "every node has a label");
  Check(picture.notes.empty() || picture.notes.size() == size,
        "every node has a note, or none has");
  Check(picture.marked.empty() || picture.marked.size() == size,
        "every node is marked or not, or no mark is given");
}

}  // namespace

std::vector<PictureNode> ResolveNodes(const TreePicture& picture) {
  CheckLists(picture);
  std::vector<PictureNode> nodes(picture.parents.size());
  int previous = -1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    PictureNode& node = nodes[i];
    node.label = picture.labels[i];
    node.marked = !picture.marked.empty() && picture.marked[i];
    if (!picture.notes.empty() && !picture.notes[i].empty()) {
      node.note = absl::StrSplit(picture.notes[i], '\n');
    }
    node.parent = picture.parents[i];
    // In depth-first order a parent is the node before or an ancestor of it.
    while (previous != node.parent) {
      Check(previous > 0, "parents are in depth-first order");
      previous = nodes[static_cast<std::size_t>(previous)].parent;
    }
    previous = static_cast<int>(i);
    if (i == 0) continue;
    PictureNode& parent = nodes[static_cast<std::size_t>(node.parent)];
    node.depth = parent.depth + 1;
    if (!parent.children.empty()) {
      nodes[static_cast<std::size_t>(parent.children.back())].last = false;
    }
    parent.children.push_back(static_cast<int>(i));
  }
  return nodes;
}

}  // namespace banyan
