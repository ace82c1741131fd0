#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tree/draft_tree.h"
#include "tree/render.h"

namespace banyan {
namespace {

using ::testing::ElementsAre;

Draw MakeDraw(TokenId token, int child, Distribution proposal) {
  Draw draw;
  draw.token = token;
  draw.child = child;
  draw.proposal = std::move(proposal);
  return draw;
}

Node MakeNode(TokenId token, int parent, int depth) {
  Node node;
  node.token = token;
  node.parent = parent;
  node.depth = depth;
  return node;
}

// Two trunks: the first draws token 2 twice, gives up token 4 and draws 5; the
// second copies 5 1 and plants a probe.
DraftTree TwoTrunks() {
  const Distribution q = Distribution::Dense({0, 0.1, 0.25, 0.3, 0.05, 0.3});
  std::vector<Node> nodes = {MakeNode(9, -1, 0), MakeNode(2, 0, 1),
                             MakeNode(5, 0, 1), MakeNode(1, 2, 2),
                             MakeNode(3, 0, 1)};
  nodes[0].children = {1, 2, 4};
  nodes[2].children = {3};
  nodes[4].probe_of = 1;
  DrawList first;
  first.proposal = {q};
  first.draws = {MakeDraw(2, 1, q),
                 MakeDraw(4, Draw::kDropped, q.KeepAtLeast(0.1)),
                 MakeDraw(2, 1, q), MakeDraw(5, 2, q)};
  DrawList second;
  second.trunk = 1;
  second.draw_kind = DrawKind::kDeterministic;
  second.draws = {MakeDraw(5, 2, Distribution::OneHot(6, 5))};
  DrawList third = second;
  third.shared_draws = true;
  third.draws = {MakeDraw(1, 3, Distribution::OneHot(6, 1))};
  nodes[0].lists = {first, second};
  nodes[2].lists = {third};
  int now = 0;
  for (Node& node : nodes)
    for (DrawList& list : node.lists)
      for (Draw& draw : list.draws) draw.time = now++;
  return DraftTree(nodes);
}

TEST(RenderDraftTree, ListsEveryDrawWithTrunkLawAndMass) {
  const TreePicture picture = Picture(TwoTrunks());
  EXPECT_THAT(picture.parents, ElementsAre(-1, 0, 0, 2, 0));
  EXPECT_THAT(picture.labels, ElementsAre("9", "2", "5", "1", "3"));
  EXPECT_THAT(picture.notes,
              ElementsAre("trunk 0 draw 2 dropped: 4",
                          "trunk 0 independent\ndraws 1, 3: q 0.25",
                          "trunk 0 independent\ndraw 4: q 0.3\n"
                          "trunk 1 deterministic\ndraw 1: q 1",
                          "trunk 1 deterministic, shared\ndraw 1: q 1",
                          "probe of trunk 1"));
  EXPECT_THAT(picture.marked, ElementsAre(false, false, false, false, false));
  EXPECT_EQ(picture.title, "3 nodes, depth 2, 1 probe");
}

TEST(RenderDraftTree, ShowsEachMassWhereRepeatedDrawsDiffer) {
  const Distribution q = Distribution::Dense({0.5, 0.5});
  std::vector<Node> nodes = {MakeNode(0, -1, 0), MakeNode(1, 0, 1)};
  nodes[0].children = {1};
  DrawList list;
  list.proposal = {q};
  list.draws = {MakeDraw(1, 1, q),
                MakeDraw(1, 1, Distribution::Dense({0.2, 0.8}))};
  nodes[0].lists = {list};
  EXPECT_EQ(Picture(DraftTree(nodes)).notes[1],
            "trunk 0 independent\ndraws 1, 2: q 0.5, 0.8");
}

TEST(RenderDraftTree, PathsAreJsonInDepthFirstOrderWithoutProbes) {
  EXPECT_EQ(PathsText(TwoTrunks()), "[[2],[5],[5,1]]");
  EXPECT_EQ(PathsText(DraftTree({MakeNode(0, -1, 0)})), "[]");
}

}  // namespace
}  // namespace banyan
