// A picture resolved node by node: what the renderers share.
#ifndef BANYAN_TREE_RENDER_NODES_H_
#define BANYAN_TREE_RENDER_NODES_H_

#include <string>
#include <vector>

#include "tree/render.h"

namespace banyan {

struct PictureNode {
  int parent = -1;
  int depth = 0;
  bool last = true;  // of its siblings
  bool marked = false;
  std::vector<int> children;
  std::string label;
  std::vector<std::string> note;  // its lines; none if there is no note
  std::string kind;
  std::vector<int> rings;
  std::string hint;
};

// Requires lists of matching length and parents before their children.
std::vector<PictureNode> ResolveNodes(const TreePicture& picture);

}  // namespace banyan

#endif  // BANYAN_TREE_RENDER_NODES_H_
