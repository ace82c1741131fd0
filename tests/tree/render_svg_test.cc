// Where the SVG renderer puts things, computed by hand from its lengths.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tree/render.h"

namespace banyan {
namespace {

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

// A column is the widest box (four letters, 4 * 13 * 0.62, and 2 * 8 beside
// them) and a gap of 10; the margin is 16. The root stands between its leaves.
TEST(RenderSvg, PlacesBoxesTextsAndEdges) {
  const std::string svg = ToSvg(Three());
  EXPECT_THAT(svg, HasSubstr("width=\"131\" height=\"106\" "
                             "viewBox=\"0 0 131 106\" role=\"img\">\n"
                             "<title>token tree</title>"));
  EXPECT_EQ(
      Drawing(svg),
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
      "<path class=\"edge\" d=\"M74.2 38.0C74.2 53.0 45.1 53.0 45.1 68.0\"/>\n"
      "<path class=\"edge\" "
      "d=\"M74.2 38.0C74.2 53.0 103.4 53.0 103.4 68.0\"/>\n"
      "<rect class=\"box\" x=\"50.1\" y=\"16.0\" width=\"48.2\" "
      "height=\"22.0\" rx=\"5\"/>\n"
      "<text class=\"label\" x=\"74.2\" y=\"31.6\">root</text>\n"
      "<rect class=\"box\" x=\"33.1\" y=\"68.0\" width=\"24.1\" "
      "height=\"22.0\" rx=\"5\"/>\n"
      "<text class=\"label\" x=\"45.1\" y=\"83.5\">a</text>\n"
      "<rect class=\"box\" x=\"91.3\" y=\"68.0\" width=\"24.1\" "
      "height=\"22.0\" rx=\"5\"/>\n"
      "<text class=\"label\" x=\"103.4\" y=\"83.5\">b</text>\n"
      "</svg>\n");
}

// A title is a line of 30; a note adds 13 a line and 5 below.
TEST(RenderSvg, MakesRoomForATitleAndNotes) {
  TreePicture picture = Three();
  picture.title = std::string("T");
  picture.notes = {"", "one\ntwo", ""};
  picture.marked = {true, true, false};
  const std::string svg = ToSvg(picture);
  EXPECT_THAT(svg, HasSubstr("width=\"131\" height=\"167\" "
                             "viewBox=\"0 0 131 167\" role=\"img\">\n"
                             "<title>T</title>"));
  EXPECT_EQ(Drawing(svg),
            "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
            "<text class=\"title\" x=\"16.0\" y=\"30.0\">T</text>\n"
            "<path class=\"marked edge\" "
            "d=\"M74.2 68.0C74.2 83.0 45.1 83.0 45.1 98.0\"/>\n"
            "<path class=\"edge\" "
            "d=\"M74.2 68.0C74.2 83.0 103.4 83.0 103.4 98.0\"/>\n"
            "<rect class=\"marked box\" x=\"50.1\" y=\"46.0\" width=\"48.2\" "
            "height=\"22.0\" rx=\"5\"/>\n"
            "<text class=\"label\" x=\"74.2\" y=\"61.5\">root</text>\n"
            "<rect class=\"marked box\" x=\"27.8\" y=\"98.0\" width=\"34.6\" "
            "height=\"53.0\" rx=\"5\"/>\n"
            "<text class=\"label\" x=\"45.1\" y=\"113.5\">a</text>\n"
            "<text class=\"note\" x=\"45.1\" y=\"128.0\">one</text>\n"
            "<text class=\"note\" x=\"45.1\" y=\"141.0\">two</text>\n"
            "<rect class=\"box\" x=\"91.3\" y=\"98.0\" width=\"24.1\" "
            "height=\"22.0\" rx=\"5\"/>\n"
            "<text class=\"label\" x=\"103.4\" y=\"113.5\">b</text>\n"
            "</svg>\n");
}

TEST(RenderSvg, IsAsWideAsItsTitle) {
  TreePicture picture = Three();
  picture.title = std::string(100, 'w');  // of 14 * 0.62, and two margins
  EXPECT_THAT(ToSvg(picture), HasSubstr(" width=\"900\" "));
}

}  // namespace
}  // namespace banyan
