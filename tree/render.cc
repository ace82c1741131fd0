#include "tree/render.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "core/base/common.h"
#include "core/terminal/columns.h"
#include "tree/draft_tree.h"
#include "tree/render_nodes.h"

namespace banyan {
namespace {

constexpr absl::string_view kMarkColor = "#c2410c";

// Between the quotes of a Graphviz string.
std::string DotEscaped(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"\\", "\\\\"}, {"\"", "\\\""}});
}

std::string DotAttributes(const PictureNode& node) {
  std::string label = DotEscaped(node.label);
  for (const std::string& line : node.note) {
    absl::StrAppend(&label, "\\n", DotEscaped(line));
  }
  return absl::StrCat(
      "label=\"", label, "\"",
      node.marked ? absl::StrCat(", color=\"", kMarkColor, "\", penwidth=2")
                  : "");
}

std::string TextLine(const PictureNode& node) {
  std::string line = Printable(node.label);
  if (node.marked) absl::StrAppend(&line, " *");
  if (!node.note.empty()) {
    absl::StrAppend(&line, "  ", Printable(absl::StrJoin(node.note, "; ")));
  }
  return absl::StrCat(line, "\n");
}

}  // namespace

std::string ToText(const TreePicture& picture) {
  std::string text;
  if (!picture.title.empty()) {
    absl::StrAppend(&text, Printable(picture.title), "\n");
  }
  // By depth: what stands in a node's column in the lines of those below it.
  std::vector<absl::string_view> columns;
  for (const PictureNode& node : ResolveNodes(picture)) {
    if (node.depth > 0) {
      columns.resize(static_cast<std::size_t>(node.depth) - 1);
      absl::StrAppend(&text, absl::StrJoin(columns, ""),
                      node.last ? "└── " : "├── ");
      columns.push_back(node.last ? "    " : "│   ");
    }
    absl::StrAppend(&text, TextLine(node));
  }
  return text;
}

std::string ToDot(const TreePicture& picture) {
  std::string dot = absl::StrCat(
      "digraph tree {\n"
      "  graph [label=\"",
      DotEscaped(picture.title),
      "\", labelloc=t, fontname=\"monospace\"];\n"
      "  node [shape=box, style=rounded, fontname=\"monospace\"];\n"
      "  edge [arrowhead=none];\n");
  const std::vector<PictureNode> nodes = ResolveNodes(picture);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    absl::StrAppend(&dot, "  n", i, " [", DotAttributes(nodes[i]), "];\n");
  }
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    absl::StrAppend(&dot, "  n", nodes[i].parent, " -> n", i);
    if (nodes[i].marked) {
      absl::StrAppend(&dot, " [color=\"", kMarkColor, "\", penwidth=2]");
    }
    absl::StrAppend(&dot, ";\n");
  }
  return absl::StrCat(dot, "}\n");
}

std::string PathsText(const DraftTree& tree) {
  std::vector<std::string> paths;
  std::vector<TokenId> path;  // a depth-first order keeps the ancestors here
  for (int i = 1; i < tree.size(); ++i) {
    const Node& node = tree.node(i);
    if (node.probe()) continue;
    path.resize(static_cast<std::size_t>(node.depth) - 1);
    path.push_back(node.token);
    paths.push_back(absl::StrCat("[", absl::StrJoin(path, ","), "]"));
  }
  return absl::StrCat("[", absl::StrJoin(paths, ","), "]");
}

}  // namespace banyan
