// The SVG renderer: tidy layout first, then the drawing.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/terminal/columns.h"
#include "core/terminal/drawing.h"
#include "tree/render.h"
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
constexpr double kRowGap = 8;     // between the outer rings of two boxes
constexpr double kLevelGap = 30;  // between levels
constexpr double kRingGap = 3.5;  // between the rings of a box
constexpr double kMargin = 16;
constexpr double kTitleLine = 30;

// Colours keep text at 4.5 to 1 or more against its ground in both modes.
constexpr absl::string_view kStyle =
    ".tree text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"
    "'DejaVu Sans Mono',monospace;text-anchor:middle;white-space:pre}\n"
    ".tree .label{font-size:13px;font-weight:600}\n"
    ".tree .note{font-size:10px}\n"
    ".tree .title{font-size:14px;text-anchor:start}\n"
    ".tree .sign,.tree .refused .label,.tree .off .label,.tree .probe .label"
    "{font-weight:400}\n"
    ".tree .edge{fill:none;stroke-width:1.25}\n"
    ".tree .marked.edge{stroke-width:3}\n"
    ".tree .ring{fill:none;stroke:currentColor;stroke-width:2.25}\n"
    ".tree .dash1{stroke-dasharray:5 3}\n"
    ".tree .dash2{stroke-dasharray:2 2}\n"
    ".tree .dash3{stroke-dasharray:8 3 2 3}\n"
    ".tree .off .box{stroke-dasharray:3 2}\n"
    ".tree .probe .box{stroke-dasharray:1 3}\n"
    ".tree .next .box{stroke-width:2}\n"
    ".tree .cut .box{stroke-dasharray:4 3}\n"
    ".tree .corrected .box{stroke-dasharray:6 3}\n"
    ".tree .bonus .box{stroke-dasharray:2 3}\n";

struct Ground {
  absl::string_view paper, box, edge, path, label, note;
  absl::string_view accepted, accepted_edge;
  absl::string_view corrected, corrected_edge, bonus, bonus_edge;
};

constexpr Ground kLight = {
    .paper = "#ffffff",
    .box = "#f5f6f8",
    .edge = "#b4b9c2",
    .path = "#1b1f27",
    .label = "#1b1f27",
    .note = "#5c6470",
    .accepted = "#cfeee2",
    .accepted_edge = "#00795a",
    .corrected = "#ffe0cc",
    .corrected_edge = "#b84a00",
    .bonus = "#d6e8fb",
    .bonus_edge = "#0a62a8",
};
constexpr Ground kDark = {
    .paper = "#14171c",
    .box = "#1f242c",
    .edge = "#4b5361",
    .path = "#e8eaee",
    .label = "#e8eaee",
    .note = "#9aa3b0",
    .accepted = "#0f3d30",
    .accepted_edge = "#3ecf9f",
    .corrected = "#4d2710",
    .corrected_edge = "#ff9a5c",
    .bonus = "#15365a",
    .bonus_edge = "#7cbcff",
};

std::string Rules(const Ground& ground) {
  return absl::StrCat(
      ".tree .paper{fill:", ground.paper, "}\n.tree .box{fill:", ground.box,
      "}\n.tree .edge,.tree .box{stroke:", ground.edge,
      "}\n.tree .label,.tree .title{fill:", ground.label,
      "}\n.tree .note,.tree .sign,.tree .off .label,.tree .probe .label{fill:",
      ground.note, "}\n.tree .marked .box{fill:", ground.accepted,
      ";stroke:", ground.accepted_edge,
      "}\n.tree .off .box,.tree .plain .box{fill:", ground.paper,
      "}\n.tree .marked.edge,.tree .plain .box{stroke:", ground.path,
      "}\n.tree .corrected .box{fill:", ground.corrected,
      ";stroke:", ground.corrected_edge,
      "}\n.tree .bonus .box{fill:", ground.bonus, ";stroke:", ground.bonus_edge,
      "}\n.tree .probe .box,.tree .cut .box{fill:none}\n");
}

double TextWidth(absl::string_view text, double size) {
  return Columns(text) * size * kColumn;
}

struct Box {
  double x = 0;  // of its left edge
  double y = 0;  // of its middle
  double width = 0;
  double height = 0;
};

Box SizeOf(const PictureNode& node) {
  double width = TextWidth(node.label, kLabelSize);
  for (const std::string& line : node.note)
    width = std::max(width, TextWidth(line, kNoteSize));
  const double notes = kNoteLine * static_cast<double>(node.note.size()) +
                       (node.note.empty() ? 0 : kBelowNote);
  return {.width = std::max(width + 2 * kPadding, kLabelLine),
          .height = kLabelLine + notes};
}

// A level is as wide as its widest box.
void PlaceLevels(const std::vector<PictureNode>& nodes,
                 std::vector<Box>& boxes) {
  std::vector<double> widths;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto depth = static_cast<std::size_t>(nodes[i].depth);
    widths.resize(std::max(widths.size(), depth + 1));
    widths[depth] = std::max(widths[depth], boxes[i].width);
  }
  std::vector<double> lefts = {kMargin};
  for (const double width : widths)
    lefts.push_back(lefts.back() + width + kLevelGap);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    boxes[i].x = lefts[static_cast<std::size_t>(nodes[i].depth)];
}

// Leaves take consecutive rows, parents the middle of their outer children.
void PlaceRows(const std::vector<PictureNode>& nodes, double top,
               std::vector<Box>& boxes) {
  double row = 0;
  std::size_t rings = 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    row = std::max(row, boxes[i].height);
    rings = std::max(rings, nodes[i].rings.size());
  }
  row += kRowGap + 2 * kRingGap * static_cast<double>(rings - 1);
  double next = top + (row - kRowGap) / 2;
  std::vector<int> left = {0};  // the next one to visit last
  while (!left.empty()) {
    const auto i = static_cast<std::size_t>(left.back());
    left.pop_back();
    left.insert(left.end(), nodes[i].children.rbegin(),
                nodes[i].children.rend());
    if (!nodes[i].children.empty()) continue;
    boxes[i].y = next;
    next += row;
  }
  for (std::size_t i = nodes.size(); i-- > 0;) {  // children before parents
    const std::vector<int>& children = nodes[i].children;
    if (children.empty()) continue;
    boxes[i].y = (boxes[static_cast<std::size_t>(children.front())].y +
                  boxes[static_cast<std::size_t>(children.back())].y) /
                 2;
  }
}

std::string Edge(const PictureNode& child, const Box& from, const Box& to) {
  const double start = from.x + from.width;
  const double middle = (start + to.x) / 2;
  return absl::StrFormat(
      "<path class=\"%sedge\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f "
      "%.1f\"/>\n",
      child.marked ? "marked " : "", start, from.y, middle, from.y, middle,
      to.y, to.x, to.y);
}

std::string TextAt(absl::string_view style, double x, double y,
                   absl::string_view text) {
  return absl::StrFormat("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                         style, x, y, text);
}

// A label with paler signs for spaces and control characters.
std::string WithSigns(absl::string_view label) {
  const auto is_sign = [](char letter) {
    const auto code = static_cast<unsigned char>(letter);
    return code <= ' ' || code == 0x7f;
  };
  std::string out;
  while (!label.empty()) {
    std::size_t end = 1;
    while (end < label.size() && is_sign(label[end]) == is_sign(label[0]))
      ++end;
    std::string part(label.substr(0, end));
    if (is_sign(part[0])) {
      std::string signs;
      for (const char letter : part)
        signs += letter == ' '    ? "\u00b7"
                 : letter == '\n' ? "\u21b5"  // more fonts have arrows
                 : letter == '\t' ? "\u21e5"
                                  : XmlEscaped(std::string(1, letter));
      part = absl::StrCat("<tspan class=\"sign\">", signs, "</tspan>");
    } else {
      part = XmlEscaped(part);
    }
    out += part;
    label.remove_prefix(end);
  }
  return out;
}

std::string Rect(absl::string_view style, const Box& box, double grown) {
  return absl::StrFormat(
      "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
      "rx=\"%g\"/>",
      style, box.x - grown, box.y - box.height / 2 - grown,
      box.width + 2 * grown, box.height + 2 * grown, 5 + grown);
}

std::string Drawn(const PictureNode& node, const Box& box) {
  std::string svg =
      absl::StrCat("<g class=\"node", node.marked ? " marked" : "",
                   node.kind.empty() ? "" : " ", node.kind, "\">");
  if (!node.hint.empty())
    absl::StrAppend(&svg, "<title>", XmlEscaped(node.hint), "</title>");
  svg += Rect("box", box, 0);
  for (std::size_t i = 0; i < node.rings.size(); ++i) {
    const auto trunk = static_cast<std::size_t>(node.rings[i]);
    svg += Rect(absl::StrCat("ring ", SeriesClass(trunk), " dash", trunk % 4),
                box, kRingGap * static_cast<double>(i));
  }
  const double middle = box.x + box.width / 2;
  const double top = box.y - box.height / 2;
  // A baseline stands about a third of the font size below the middle.
  double y = top + kLabelLine / 2 + kLabelSize * 0.35;
  svg += TextAt("label", middle, y, WithSigns(node.label));
  y = top + kLabelLine + kNoteSize * 0.8;
  for (const std::string& line : node.note) {
    svg += TextAt("note", middle, y, XmlEscaped(line));
    y += kNoteLine;
  }
  return svg + "</g>\n";
}

}  // namespace

std::string TreeStyle() {
  return absl::StrCat(kStyle, Rules(kLight), SeriesRules(".tree ", false),
                      "@media (prefers-color-scheme:dark){\n", Rules(kDark),
                      SeriesRules(".tree ", true), "}\n");
}

std::string ToSvg(const TreePicture& picture, bool with_style) {
  const std::vector<PictureNode> nodes = ResolveNodes(picture);
  const bool titled = !picture.title.empty();
  std::vector<Box> boxes;
  for (const PictureNode& node : nodes) boxes.push_back(SizeOf(node));
  PlaceLevels(nodes, boxes);
  PlaceRows(nodes, kMargin + (titled ? kTitleLine : 0), boxes);
  double width = kMargin + (titled ? TextWidth(picture.title, kTitleSize) : 0);
  double height = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const double rings =
        kRingGap *
        (static_cast<double>(std::max<std::size_t>(1, nodes[i].rings.size())) -
         1);
    width = std::max(width, boxes[i].x + boxes[i].width + rings);
    height = std::max(height, boxes[i].y + boxes[i].height / 2 + rings);
  }
  width += kMargin;
  height += kMargin;
  std::string svg = absl::StrFormat(
      "<svg class=\"tree\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
      "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>%s"
      "</title>\n",
      width, height, width, height,
      titled ? XmlEscaped(picture.title) : "token tree");
  if (with_style) absl::StrAppend(&svg, "<style>\n", TreeStyle(), "</style>\n");
  absl::StrAppend(&svg,
                  "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
  if (titled)
    absl::StrAppend(&svg,
                    TextAt("title", kMargin, kMargin + kTitleSize,
                           XmlEscaped(picture.title)),
                    "\n");
  // Marked edges last, above the others.
  for (const bool marked : {false, true})
    for (std::size_t i = 1; i < nodes.size(); ++i)
      if (nodes[i].marked == marked)
        svg += Edge(nodes[i], boxes[static_cast<std::size_t>(nodes[i].parent)],
                    boxes[i]);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    svg += Drawn(nodes[i], boxes[i]);
  return absl::StrCat(svg, "</svg>\n");
}

}  // namespace banyan
