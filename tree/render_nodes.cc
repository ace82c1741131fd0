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
  for (const std::size_t given :
       {picture.notes.size(), picture.marked.size(), picture.kinds.size(),
        picture.rings.size(), picture.hints.size()})
    Check(given == 0 || given == size, "a list has an entry a node, or none");
}

}  // namespace

std::vector<PictureNode> ResolveNodes(const TreePicture& picture) {
  CheckLists(picture);
  std::vector<PictureNode> nodes(picture.parents.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    PictureNode& node = nodes[i];
    node.label = picture.labels[i];
    node.marked = !picture.marked.empty() && picture.marked[i];
    if (!picture.kinds.empty()) node.kind = picture.kinds[i];
    if (!picture.rings.empty()) node.rings = picture.rings[i];
    if (!picture.hints.empty()) node.hint = picture.hints[i];
    if (!picture.notes.empty() && !picture.notes[i].empty()) {
      node.note = absl::StrSplit(picture.notes[i], '\n');
    }
    node.parent = picture.parents[i];
    if (i == 0) continue;
    Check(node.parent >= 0 && static_cast<std::size_t>(node.parent) < i,
          "a parent stands before its children");
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
