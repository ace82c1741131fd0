// The SVG renderer: tidy layout first, then the drawing.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/text/columns.h"
#include "tree/render.h"
#include "tree/render_label.h"
#include "tree/render_nodes.h"

namespace banyan {
namespace {

// Lengths in px. A fixed-width font is 0.6 em wide in the faces named below; a
// little more keeps wider substitutes inside their boxes.
constexpr double kLabelSize = 13;
constexpr double kNoteSize = 10;
constexpr double kTitleSize = 14;
constexpr double kColumn = 0.62;  // of the font size
constexpr double kPadding = 8;    // beside the text
constexpr double kLabelLine = 22;
constexpr double kNoteLine = 13;
constexpr double kBelowNote = 5;
constexpr double kGap = 10;       // between columns
constexpr double kLevelGap = 30;  // between levels
constexpr double kMargin = 16;
constexpr double kTitleLine = 30;

// Font sizes as above; the colours keep text at 4.5 to 1 or more against its
// ground in both modes.
constexpr absl::string_view kStyle =
    "<style>\n"
    ".paper{fill:#ffffff}\n"
    ".edge{fill:none;stroke:#b4b9c2;stroke-width:1.25}\n"
    ".box{fill:#f5f6f8;stroke:#b4b9c2}\n"
    ".label{fill:#1b1f27}.note{fill:#5c6470}.title{fill:#1b1f27}\n"
    ".marked.edge{stroke:#c2410c;stroke-width:2.5}\n"
    ".marked.box{fill:#fff1e8;stroke:#c2410c;stroke-width:2}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".paper{fill:#14171c}\n"
    ".edge{stroke:#4b5361}\n"
    ".box{fill:#1f242c;stroke:#4b5361}\n"
    ".label{fill:#e8eaee}.note{fill:#9aa3b0}.title{fill:#e8eaee}\n"
    ".marked.edge{stroke:#fb923c}\n"
    ".marked.box{fill:#3a2415;stroke:#fb923c}\n"
    "}\n"
    "text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"
    "'DejaVu Sans Mono',monospace;text-anchor:middle}\n"
    ".label{font-size:13px;font-weight:600}\n"
    ".note{font-size:10px}\n"
    ".title{font-size:14px;text-anchor:start}\n"
    "</style>\n";

double TextWidth(absl::string_view text, double size) {
  return Columns(text) * size * kColumn;
}

double BoxWidth(const PictureNode& node) {
  double width = TextWidth(node.label, kLabelSize);
  for (const std::string& line : node.note) {
    width = std::max(width, TextWidth(line, kNoteSize));
  }
  return std::max(width + 2 * kPadding, kLabelLine);
}

double BoxHeight(const PictureNode& node) {
  if (node.note.empty()) return kLabelLine;
  return kLabelLine + kNoteLine * static_cast<double>(node.note.size()) +
         kBelowNote;
}

struct Box {
  double x = 0;  // of its middle
  double y = 0;  // of its upper edge
  double width = 0;
  double height = 0;
};

// Leaves take consecutive columns, parents the middle of their outer children.
void PlaceColumns(const std::vector<PictureNode>& nodes,
                  std::vector<Box>& boxes) {
  double column = 0;
  for (const Box& box : boxes) column = std::max(column, box.width);
  column += kGap;
  double next = kMargin + column / 2;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].children.empty()) continue;
    boxes[i].x = next;
    next += column;
  }
  for (std::size_t i = nodes.size(); i-- > 0;) {  // children before parents
    const std::vector<int>& children = nodes[i].children;
    if (children.empty()) continue;
    boxes[i].x = (boxes[static_cast<std::size_t>(children.front())].x +
                  boxes[static_cast<std::size_t>(children.back())].x) /
                 2;
  }
}

// A level is as high as its highest box.
void PlaceLevels(const std::vector<PictureNode>& nodes, double top,
                 std::vector<Box>& boxes) {
  std::vector<double> heights;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto depth = static_cast<std::size_t>(nodes[i].depth);
    heights.resize(std::max(heights.size(), depth + 1));
    heights[depth] = std::max(heights[depth], boxes[i].height);
  }
  std::vector<double> tops = {top};
  for (const double height : heights) {
    tops.push_back(tops.back() + height + kLevelGap);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    boxes[i].y = tops[static_cast<std::size_t>(nodes[i].depth)];
  }
}

std::vector<Box> Place(const std::vector<PictureNode>& nodes, double top) {
  std::vector<Box> boxes;
  boxes.reserve(nodes.size());
  for (const PictureNode& node : nodes) {
    boxes.push_back({0, 0, BoxWidth(node), BoxHeight(node)});
  }
  PlaceColumns(nodes, boxes);
  PlaceLevels(nodes, top, boxes);
  return boxes;
}

std::string Class(absl::string_view name, const PictureNode& node) {
  return absl::StrCat("class=\"", node.marked ? "marked " : "", name, "\"");
}

std::string Edge(const PictureNode& child, const Box& from, const Box& to) {
  const double start = from.y + from.height;
  const double middle = (start + to.y) / 2;
  return absl::StrFormat(
      "<path %s d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n",
      Class("edge", child), from.x, start, from.x, middle, to.x, middle, to.x,
      to.y);
}

std::string TextAt(absl::string_view style, double x, double y,
                   absl::string_view text) {
  return absl::StrFormat("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                         style, x, y, XmlEscaped(text));
}

std::string Drawn(const PictureNode& node, const Box& box) {
  std::string svg = absl::StrFormat(
      "<rect %s x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
      "rx=\"5\"/>\n",
      Class("box", node), box.x - box.width / 2, box.y, box.width, box.height);
  // A baseline stands about a third of the font size below the middle.
  double y = box.y + kLabelLine / 2 + kLabelSize * 0.35;
  absl::StrAppend(&svg, TextAt("label", box.x, y, node.label));
  y = box.y + kLabelLine + kNoteSize * 0.8;
  for (const std::string& line : node.note) {
    absl::StrAppend(&svg, TextAt("note", box.x, y, line));
    y += kNoteLine;
  }
  return svg;
}

std::string Opening(double width, double height, const std::string& title) {
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
      "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n"
      "<title>%s</title>\n%s"
      "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
      width, height, width, height, XmlEscaped(title), kStyle);
}

}  // namespace

std::string ToSvg(const TreePicture& picture) {
  const std::vector<PictureNode> nodes = ResolveNodes(picture);
  const bool titled = !picture.title.empty();
  const std::vector<Box> boxes =
      Place(nodes, kMargin + (titled ? kTitleLine : 0));
  double width = kMargin + (titled ? TextWidth(picture.title, kTitleSize) : 0);
  double height = 0;
  for (const Box& box : boxes) {
    width = std::max(width, box.x + box.width / 2);
    height = std::max(height, box.y + box.height);
  }
  std::string svg = Opening(width + kMargin, height + kMargin,
                            titled ? picture.title : "token tree");
  if (titled) {
    absl::StrAppend(
        &svg, TextAt("title", kMargin, kMargin + kTitleSize, picture.title));
  }
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const Box& parent = boxes[static_cast<std::size_t>(nodes[i].parent)];
    absl::StrAppend(&svg, Edge(nodes[i], parent, boxes[i]));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    absl::StrAppend(&svg, Drawn(nodes[i], boxes[i]));
  }
  return absl::StrCat(svg, "</svg>\n");
}

}  // namespace banyan
