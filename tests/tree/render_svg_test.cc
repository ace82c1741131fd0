// Where the SVG renderer puts things, computed by hand from its lengths.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tree/render.h"

namespace banyan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// What is drawn, without the opening and the colours.
std::string Drawing(const std::string& svg) {
  const std::string end = "</style>\n";
  return svg.substr(svg.find(end) + end.size());
}

TreePicture Three() {
  TreePicture picture;
  picture.parents = {-1, 0, 0};
  picture.labels = {"root", "a", "b"};
  return picture;
}

// A level is as wide as its widest box (four letters, 4 * 13 * 0.62, and 2 * 8
// beside them), 30 lie between levels, rows are a box of 22 and a gap of 8; the
// margin is 16. The root stands between its leaves.
TEST(RenderSvg, PlacesBoxesTextsAndEdges) {
  const std::string svg = ToSvg(Three());
  EXPECT_THAT(svg, HasSubstr("width=\"134\" height=\"84\" "
                             "viewBox=\"0 0 134 84\" role=\"img\">\n"
                             "<title>token tree</title>"));
  EXPECT_EQ(
      Drawing(svg),
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
      "<path class=\"edge\" d=\"M64.2 42.0C79.2 42.0 79.2 27.0 94.2 27.0\"/>\n"
      "<path class=\"edge\" "
      "d=\"M64.2 42.0C79.2 42.0 79.2 57.0 94.2 57.0\"/>\n"
      "<g class=\"node\"><rect class=\"box\" x=\"16.0\" y=\"31.0\" "
      "width=\"48.2\" height=\"22.0\" rx=\"5\"/>"
      "<text class=\"label\" x=\"40.1\" y=\"46.5\">root</text></g>\n"
      "<g class=\"node\"><rect class=\"box\" x=\"94.2\" y=\"16.0\" "
      "width=\"24.1\" height=\"22.0\" rx=\"5\"/>"
      "<text class=\"label\" x=\"106.3\" y=\"31.6\">a</text></g>\n"
      "<g class=\"node\"><rect class=\"box\" x=\"94.2\" y=\"46.0\" "
      "width=\"24.1\" height=\"22.0\" rx=\"5\"/>"
      "<text class=\"label\" x=\"106.3\" y=\"61.5\">b</text></g>\n"
      "</svg>\n");
}

// A title is a line of 30; a note adds 13 a line and 5 below.
TEST(RenderSvg, MakesRoomForATitleAndNotes) {
  TreePicture picture = Three();
  picture.title.assign(1, 'T');  // GCC 12 warns of = "T"
  picture.notes = {"", "one\ntwo", ""};
  picture.marked = {true, true, false};
  const std::string svg = ToSvg(picture);
  EXPECT_THAT(svg, HasSubstr("<title>T</title>"));
  const std::string drawing = Drawing(svg);
  EXPECT_THAT(
      drawing,
      HasSubstr("<text class=\"title\" x=\"16.0\" y=\"30.0\">T</text>"));
  // Rows are 22 + 2 * 13 + 5 and a gap of 8; marked edges come last.
  EXPECT_THAT(drawing,
              HasSubstr("<path class=\"edge\" d=\"M64.2 103.0C79.2 103.0 79.2 "
                        "133.5 94.2 133.5\"/>\n"
                        "<path class=\"marked edge\" d=\"M64.2 103.0C79.2 "
                        "103.0 79.2 72.5 94.2 72.5\"/>\n"));
  EXPECT_THAT(
      drawing,
      HasSubstr("<g class=\"node marked\"><rect class=\"box\" x=\"94.2\" "
                "y=\"46.0\" width=\"34.6\" height=\"53.0\" rx=\"5\"/>"
                "<text class=\"label\" x=\"111.5\" y=\"61.5\">a</text>"
                "<text class=\"note\" x=\"111.5\" y=\"76.0\">one</text>"
                "<text class=\"note\" x=\"111.5\" y=\"89.0\">two</text></g>"));
}

// Of the first trunk's ring the box's own size, of the next 3.5 more on each
// side; signs stand for what cannot be seen.
TEST(RenderSvg, DrawsRingsKindsHintsAndSigns) {
  TreePicture picture = Three();
  picture.labels[1] = " a\n";
  picture.kinds = {"", "refused", ""};
  picture.rings = {{}, {0, 10}, {}};
  picture.hints = {"", "p < q", ""};
  EXPECT_THAT(
      ToSvg(picture),
      AllOf(HasSubstr("<g class=\"node refused\"><title>p &lt; q</title>"
                      "<rect class=\"box\" x=\"94.2\" y=\"19.5\" "
                      "width=\"40.2\" height=\"22.0\" rx=\"5\"/>"
                      "<rect class=\"ring s1 dash0\" x=\"94.2\" y=\"19.5\" "
                      "width=\"40.2\" height=\"22.0\" rx=\"5\"/>"
                      "<rect class=\"ring s2 dash2\" x=\"90.7\" y=\"16.0\" "
                      "width=\"47.2\" height=\"29.0\" rx=\"8.5\"/>"),
            HasSubstr("<tspan class=\"sign\">\u00b7</tspan>a"
                      "<tspan class=\"sign\">\u21b5</tspan></text>")));
}

// As records may have them: a parent stands before its children, and no more.
TEST(RenderSvg, TakesNodesInAnyOrderThatHasParentsFirst) {
  TreePicture picture;
  picture.parents = {-1, 0, 0, 1};
  picture.labels = {"root", "a", "b", "c"};
  const std::string svg = ToSvg(picture);
  // c stands after a, above b.
  EXPECT_LT(svg.find("y=\"31.6\">c<"), svg.size());
  EXPECT_LT(svg.find("y=\"31.6\">a<"), svg.size());
  EXPECT_LT(svg.find("y=\"61.5\">b<"), svg.size());
}

TEST(RenderSvg, IsAsWideAsItsTitle) {
  TreePicture picture = Three();
  picture.title = std::string(100, 'w');  // of 14 * 0.62, and two margins
  EXPECT_THAT(ToSvg(picture), HasSubstr(" width=\"900\" "));
}

}  // namespace
}  // namespace banyan
