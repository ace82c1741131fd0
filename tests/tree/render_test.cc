#include "tree/render.h"

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/strip.h"
#include "core/base/common.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tree/optimize_trees.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TreePicture Example() {
  TreePicture picture;
  picture.parents = {-1, 0, 1, 1, 0};
  picture.labels = {"root", "a", "b", "c", "d"};
  picture.notes = {"", "one\ntwo", "", "three", ""};
  picture.marked = {true, true, false, true, false};
  picture.title = "an example";
  return picture;
}

TEST(Render, TextDrawsBranchesLikeTree) {
  EXPECT_EQ(ToText(Example()),
            "an example\n"
            "root *\n"
            "├── a *  one; two\n"
            "│   ├── b\n"
            "│   └── c *  three\n"
            "└── d\n");
}

TEST(Render, TextLeavesNoBranchBesideALastChild) {
  TreePicture picture;
  picture.parents = {-1, 0, 1, 2};
  picture.labels = {"a", "b", "c", "d"};
  EXPECT_EQ(ToText(picture),
            "a\n"
            "└── b\n"
            "    └── c\n"
            "        └── d\n");
}

TEST(Render, DotHoldsEveryNodeAndEdge) {
  EXPECT_EQ(
      ToDot(Example()),
      "digraph tree {\n"
      "  graph [label=\"an example\", labelloc=t, fontname=\"monospace\"];\n"
      "  node [shape=box, style=rounded, fontname=\"monospace\"];\n"
      "  edge [arrowhead=none];\n"
      "  n0 [label=\"root\", color=\"#c2410c\", penwidth=2];\n"
      "  n1 [label=\"a\\none\\ntwo\", color=\"#c2410c\", penwidth=2];\n"
      "  n2 [label=\"b\"];\n"
      "  n3 [label=\"c\\nthree\", color=\"#c2410c\", penwidth=2];\n"
      "  n4 [label=\"d\"];\n"
      "  n0 -> n1 [color=\"#c2410c\", penwidth=2];\n"
      "  n1 -> n2;\n"
      "  n1 -> n3 [color=\"#c2410c\", penwidth=2];\n"
      "  n0 -> n4;\n"
      "}\n");
}

TEST(Render, DotEscapesQuotesAndBackslashes) {
  TreePicture picture;
  picture.parents = {-1};
  picture.labels = {"\\n\""};
  EXPECT_THAT(ToDot(picture), HasSubstr("label=\"\\\\n\\\"\""));
}

// Whether every & opens one of XML's own entities and no < stands in the text.
bool Clean(absl::string_view text) {
  if (absl::StrContains(text, '<')) return false;
  for (std::size_t i = text.find('&'); i != text.npos;
       i = text.find('&', i + 1)) {
    const absl::string_view entity = text.substr(i, text.find(';', i) - i + 1);
    if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" &&
        entity != "&quot;" && entity != "&apos;") {
      return false;
    }
  }
  return true;
}

// Where a document of elements and text is not well-formed: a tag without its
// partner, or a < or & that stands for itself. Empty if nowhere.
std::string XmlFault(absl::string_view xml) {
  std::vector<std::string> open;
  for (std::size_t begin; (begin = xml.find('<')) != xml.npos;) {
    const std::size_t end = xml.find('>', begin);
    if (end == xml.npos) return "an open tag";
    absl::string_view tag = xml.substr(begin + 1, end - begin - 1);
    if (!Clean(xml.substr(0, begin)) || !Clean(tag)) return std::string(tag);
    xml.remove_prefix(end + 1);
    if (absl::ConsumePrefix(&tag, "/")) {
      if (open.empty() || open.back() != tag) return std::string(tag);
      open.pop_back();
    } else if (!absl::ConsumeSuffix(&tag, "/")) {
      open.emplace_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty() && xml == "\n" ? "" : "the end";
}

TEST(Render, SvgIsWellFormedAndSelfContained) {
  const std::string svg = ToSvg(Example());
  EXPECT_EQ(XmlFault(svg), "");
  EXPECT_NE(XmlFault("<a><b></a>\n"), "");
  EXPECT_NE(XmlFault("<a>&</a>\n"), "");
  EXPECT_NE(XmlFault("<a b=\"<\"></a>\n"), "");
  EXPECT_THAT(svg, HasSubstr("xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 "));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(svg, HasSubstr(">an example</text>"));
  EXPECT_THAT(svg, HasSubstr(">two</text>"));
  EXPECT_THAT(svg, HasSubstr("class=\"marked edge\""));
  EXPECT_THAT(svg, HasSubstr(TreeStyle()));
  EXPECT_THAT(ToSvg(Example(), /*with_style=*/false), Not(HasSubstr("style")));
  EXPECT_THAT(svg, Not(HasSubstr("script")));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
}

TEST(Render, SvgEscapesTexts) {
  TreePicture picture = Example();
  picture.title = "a < b & \"c\"";
  picture.labels[1] = "<script>&'";
  picture.notes[2] = "\x01\xff";
  const std::string svg = ToSvg(picture);
  EXPECT_EQ(XmlFault(svg), "");
  EXPECT_THAT(svg, HasSubstr(">a &lt; b &amp; &quot;c&quot;</text>"));
  EXPECT_THAT(svg, HasSubstr(">&lt;script&gt;&amp;&apos;</text>"));
  EXPECT_THAT(svg, HasSubstr(">\u2401\uFFFD</text>"));
}

struct Box {
  double x, y, width, height;
};

// The number between `name="` and the next quote.
double Attribute(absl::string_view element, absl::string_view name) {
  const std::string opening = absl::StrCat(" ", name, "=\"");
  double value = -1;
  element.remove_prefix(element.find(opening) + opening.size());
  EXPECT_TRUE(absl::SimpleAtod(element.substr(0, element.find('"')), &value))
      << name;
  return value;
}

// The boxes of the nodes, in their order.
std::vector<Box> Boxes(const std::string& svg) {
  std::vector<Box> boxes;
  for (const absl::string_view line : absl::StrSplit(svg, '\n')) {
    if (!absl::StrContains(line, "box\" ")) continue;
    boxes.push_back({Attribute(line, "x"), Attribute(line, "y"),
                     Attribute(line, "width"), Attribute(line, "height")});
  }
  return boxes;
}

double Width(const std::string& svg) { return Attribute(svg, "width"); }
double Height(const std::string& svg) { return Attribute(svg, "height"); }

bool Apart(const Box& a, const Box& b) {
  return a.x + a.width < b.x || b.x + b.width < a.x || a.y + a.height < b.y ||
         b.y + b.height < a.y;
}

TEST(Render, SvgBoxesNeverTouchAndStayInsideThePicture) {
  std::mt19937_64 bits(8);
  for (const Shape& shape : AllTrees(7)) {
    TreePicture picture = Picture(shape, {0.5, 0.3, 0.1});
    for (std::string& label : picture.labels) label.append(bits() % 9, 'w');
    for (std::string& note : picture.notes) {
      for (auto lines = bits() % 3; lines > 0; --lines) note += "\nline";
    }
    const std::string svg = ToSvg(picture);
    const std::vector<Box> boxes = Boxes(svg);
    ASSERT_EQ(boxes.size(), shape.parents.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        ASSERT_TRUE(Apart(boxes[i], boxes[j])) << ToText(picture);
      }
      ASSERT_GT(boxes[i].x, 0);
      ASSERT_LT(boxes[i].x + boxes[i].width, Width(svg));
      ASSERT_LT(boxes[i].y + boxes[i].height, Height(svg));
    }
  }
}

TEST(Render, SvgCentresParentsInFrontOfTheirChildren) {
  const std::vector<Box> boxes = Boxes(ToSvg(Example()));
  const auto middle = [&](std::size_t i) {
    return boxes[i].y + boxes[i].height / 2;
  };
  EXPECT_NEAR(middle(1), (middle(2) + middle(3)) / 2, 0.2);
  EXPECT_NEAR(middle(0), (middle(1) + middle(4)) / 2, 0.2);
  EXPECT_NEAR(middle(4) - middle(3), middle(3) - middle(2), 0.2);
  EXPECT_GT(boxes[1].x, boxes[0].x + boxes[0].width);
  EXPECT_EQ(boxes[2].x, boxes[3].x);
}

TEST(Render, SvgOfALargerTreeIsHigherAtTheSameSizeOfText) {
  const absl::StatusOr<Shape> small = Shape::FromBranching({10});
  const absl::StatusOr<Shape> large = Shape::FromBranching({1000});
  const double low = Height(ToSvg(Picture(*small, {})));
  const double high = Height(ToSvg(Picture(*large, {})));
  EXPECT_GT(high, 80 * low);
}

TEST(Render, PictureOfAShapeShowsRanksAndPathProbabilities) {
  const absl::StatusOr<Shape> shape = Shape::FromPaths({{0}, {0, 0}, {1}});
  const TreePicture picture = Picture(*shape, {0.5, 0.25});
  EXPECT_THAT(picture.parents, ElementsAre(-1, 0, 1, 0));
  EXPECT_THAT(picture.labels, ElementsAre("root", "1", "1", "2"));
  EXPECT_THAT(picture.notes, ElementsAre("1", "0.5", "0.25", "0.25"));
  EXPECT_EQ(picture.title, "3 nodes, depth 2, 2 expected tokens");
}

}  // namespace
}  // namespace banyan
