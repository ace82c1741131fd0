#include "tree/draft_tree.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/tree_text.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;

using Nodes = std::vector<Node>;

TEST(DraftTree, InvariantsHoldForTreesOfEveryKind) {
  for (absl::string_view text :
       {"9", "9(1)", "9(1(2(3)))", "9(1(2) ~3 2)", "9(~1)", "9( | 1)",
        "9(1 *4(*5) | *4 2)", "9(*4)", "9(1(2 | 3) 2 | 4 1)"}) {
    for (DrawKind draw_kind :
         {DrawKind::kIndependent, DrawKind::kWithoutReplacement}) {
      const Nodes nodes =
          ParseNodes(text, {.draw_kinds = {draw_kind, draw_kind}});
      EXPECT_EQ(CheckInvariants(nodes), absl::OkStatus()) << text;
    }
  }
  EXPECT_EQ(CheckInvariants(ParseNodes("9(1 2(4 5 4 | 5) 1 | 2 2)")),
            absl::OkStatus());
  EXPECT_EQ(CheckInvariants(ParseNodes(
                "9(1 ~3 2(4 5))", {.draw_kinds = {DrawKind::kDeterministic}})),
            absl::OkStatus());
}

// A good tree, how to break it, and what must then be said.
struct Broken {
  std::string how;
  std::string text;
  std::function<void(Nodes&)> breaks;
  int invariant;
  int node;
};

void ExpectRefusal(const Broken& broken) {
  Nodes nodes = ParseNodes(broken.text);
  ASSERT_EQ(CheckInvariants(nodes), absl::OkStatus()) << broken.text;
  broken.breaks(nodes);
  const absl::Status status = CheckInvariants(nodes);
  const std::string what = absl::StrCat(broken.text, ", ", broken.how);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << what;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("invariant ", broken.invariant)))
      << what;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("node ", broken.node)))
      << what;
}

Distribution Uniform() {
  return Distribution::Dense(std::vector<double>(8, 0.125));
}

void JudgeBy(const Distribution& law, Draw& draw) { draw.proposal = law; }

TEST(DraftTree, ARootThatIsNoRootBreaksTheFirstInvariant) {
  const std::string text = "9(1)";
  for (const Broken& broken : std::vector<Broken>{
           {"no nodes", text, [](Nodes& n) { n.clear(); }, 1, 0},
           {"a parent", text, [](Nodes& n) { n[0].parent = 1; }, 1, 0},
           {"a depth", text, [](Nodes& n) { n[0].depth = 1; }, 1, 0},
           {"a probe", text, [](Nodes& n) { n[0].probe_of = 0; }, 1, 0}})
    ExpectRefusal(broken);
}

TEST(DraftTree, AnotherOrderThanDepthFirstBreaksTheSecondInvariant) {
  const std::vector<Broken> all = {
      {"a depth that skips", "9(1(2))", [](Nodes& n) { n[2].depth = 3; }, 2, 2},
      {"a parent that comes later", "9(1(2))",
       [](Nodes& n) { n[1].parent = 2; }, 2, 1},
      {"a parent out of range", "9(1(2))", [](Nodes& n) { n[2].parent = 7; }, 2,
       2},
      {"a child that is not listed", "9(1 2)",
       [](Nodes& n) { n[0].children = {1}; }, 2, 2},
      {"a child of another node", "9(1(2) 3)",
       [](Nodes& n) {
         n[0].children = {1, 2, 3};
       },
       2, 2},
      {"children against the order of their draws", "9(1 | 2)",
       [](Nodes& n) {
         std::swap(n[0].lists[0].draws[0].time, n[0].lists[1].draws[0].time);
       },
       2, 0},
      {"a probe before a drawn child", "9(1 *2)",
       [](Nodes& n) {
         std::swap(n[1], n[2]);
         n[0].lists[0].draws[0].child = 2;
       },
       2, 0}};
  for (const Broken& broken : all) ExpectRefusal(broken);
}

TEST(DraftTree, ASubtreeWithAGapBreaksTheSecondInvariant) {
  // Level by level: the root, 1, 2, then 3 below 1.
  ExpectRefusal({"a breadth-first order", "9(1(3) 2)",
                 [](Nodes& n) {
                   std::swap(n[2], n[3]);
                   n[0].children = {1, 2};
                   n[0].lists[0].draws[1].child = 2;
                   n[1].children = {3};
                   n[1].lists[0].draws[0].child = 3;
                 },
                 2, 3});
}

TEST(DraftTree, EqualSiblingsBreakTheThirdInvariant) {
  ExpectRefusal({"twice 1", "9(1 2)",
                 [](Nodes& n) {
                   n[2].token = 1;
                   n[0].lists[0].draws[1].token = 1;
                 },
                 3, 0});
}

TEST(DraftTree, DrawsAndChildrenThatDoNotMatchBreakTheFourthInvariant) {
  const std::vector<Broken> all = {
      {"a draw of another token", "9(1 2)",
       [](Nodes& n) { n[0].lists[0].draws[1].token = 3; }, 4, 0},
      {"a draw that points nowhere", "9(1 2)",
       [](Nodes& n) { n[0].lists[0].draws[1].child = 5; }, 4, 0},
      {"a draw that points below zero", "9(1 2)",
       [](Nodes& n) { n[0].lists[0].draws[1].child = -2; }, 4, 0},
      {"a draw that points to a grandchild", "9(1(2))",
       [](Nodes& n) { n[0].lists[0].draws.push_back(n[1].lists[0].draws[0]); },
       4, 0},
      {"a draw that points to a probe", "9(1 *2)",
       [](Nodes& n) {
         Draw draw = n[0].lists[0].draws[0];
         draw.token = 2;
         draw.time = 1;
         draw.child = 2;
         n[0].lists[0].draws.push_back(draw);
       },
       4, 0},
      {"a node that nobody drew", "9(1 2)",
       [](Nodes& n) { n[0].lists[0].draws.pop_back(); }, 4, 2}};
  for (const Broken& broken : all) ExpectRefusal(broken);
}

TEST(DraftTree, ListsOutOfTrunkOrderBreakTheFifthInvariant) {
  const std::vector<Broken> all = {
      {"two lists of one trunk", "9(1 | 1)",
       [](Nodes& n) { n[0].lists[1].trunk = 0; }, 5, 0},
      {"the later trunk first", "9(1 | 1)",
       [](Nodes& n) { std::swap(n[0].lists[0], n[0].lists[1]); }, 5, 0},
      {"a negative trunk", "9(1(2))",
       [](Nodes& n) { n[1].lists[0].trunk = -1; }, 5, 1}};
  for (const Broken& broken : all) ExpectRefusal(broken);
}

TEST(DraftTree, DrawsOutOfTimeBreakTheFifthInvariant) {
  const std::vector<Broken> all = {
      {"a list against time", "9(1 2)",
       [](Nodes& n) {
         std::swap(n[0].lists[0].draws[0], n[0].lists[0].draws[1]);
       },
       5, 0},
      {"one number for two draws of a node", "9(1 | 1)",
       [](Nodes& n) { n[0].lists[1].draws[0].time = 0; }, 5, 0},
      {"one number for draws of two nodes", "9(1(2))",
       [](Nodes& n) { n[1].lists[0].draws[0].time = 0; }, 5, 1},
      {"a draw below a draw that came later", "9(1(2))",
       [](Nodes& n) {
         std::swap(n[0].lists[0].draws[0].time, n[1].lists[0].draws[0].time);
       },
       5, 1}};
  for (const Broken& broken : all) ExpectRefusal(broken);
}

TEST(DraftTree, MassesAgainstTheirDrawBreakTheSixthInvariant) {
  const std::vector<Broken> all = {
      {"a kept token without mass", "9(1(2))",
       [](Nodes& n) {
         JudgeBy(Distribution::OneHot(8, 3), n[1].lists[0].draws[0]);
       },
       6, 1},
      {"a kept draw without a proposal", "9(1(2))",
       [](Nodes& n) { JudgeBy(Distribution(), n[0].lists[0].draws[0]); }, 6, 0},
      {"a dropped token with mass", "9(1 ~2)",
       [](Nodes& n) { JudgeBy(Uniform(), n[0].lists[0].draws[1]); }, 6, 0}};
  for (const Broken& broken : all) ExpectRefusal(broken);
}

TEST(DraftTree, ADeterministicDrawThatIsNotOneHotBreaksTheSeventhInvariant) {
  const auto ranked = [](Nodes& n) -> Draw& {
    n[1].lists[0].draw_kind = DrawKind::kDeterministic;
    return n[1].lists[0].draws[0];
  };
  const std::vector<Broken> all = {
      {"a uniform law", "9(1(2))", [&](Nodes& n) { ranked(n); }, 7, 1},
      {"half a certainty", "9(1(2))",
       [&](Nodes& n) {
         JudgeBy(Distribution::Sparse(8, {2}, {0.5}), ranked(n));
       },
       7, 1},
      {"a dropped draw with mass elsewhere", "9(1(~2))",
       [&](Nodes& n) { JudgeBy(Distribution::OneHot(8, 3), ranked(n)); }, 7,
       1}};
  for (const Broken& broken : all) ExpectRefusal(broken);
}

TEST(DraftTree, ProbesThatAreDrawnBelowBreakTheEighthInvariant) {
  const std::vector<Broken> all = {
      {"a probe with draws", "9(*1(*2))",
       [](Nodes& n) {
         const Draw draw = {.token = 2, .child = 2, .proposal = Uniform()};
         n[1].lists = {{.proposal = {Uniform()}, .draws = {draw}}};
       },
       8, 1},
      {"a drawn child of a probe", "9(*1(*2))",
       [](Nodes& n) { n[2].probe_of = Node::kNoProbe; }, 8, 1}};
  for (const Broken& broken : all) ExpectRefusal(broken);
}

TEST(DraftTree, ChildFindsDrawnChildrenAndNoProbes) {
  const DraftTree tree = ParseTree("9(1(2) 5 1 *3(*4) | 6 ~2 *5)");
  EXPECT_EQ(tree.Child(0, 1), 1);
  EXPECT_EQ(tree.Child(1, 2), 2);
  EXPECT_EQ(tree.Child(0, 5), 3);
  EXPECT_EQ(tree.Child(0, 6), 4);
  for (TokenId none : {0, 2, 3, 4, 7, 9}) EXPECT_EQ(tree.Child(0, none), -1);
  EXPECT_EQ(tree.Child(2, 1), -1) << "a leaf";
  EXPECT_EQ(tree.node(5).token, 3) << "the first probe, for what follows";
  EXPECT_EQ(tree.Child(5, 4), -1) << "a probe's child";
}

TEST(DraftTree, HeightCountsWhatCanBeAccepted) {
  EXPECT_EQ(ParseTree("9").Height(), 0);
  EXPECT_EQ(ParseTree("9(~1)").Height(), 0);
  EXPECT_EQ(ParseTree("9(*1(*2(*3)))").Height(), 0);
  EXPECT_EQ(ParseTree("9(1 2(3(4)) 5(*6(*7(*1))))").Height(), 3);
}

TEST(DraftTreeDeathTest, DiesOfATreeWithoutARoot) {
  EXPECT_DEATH(DraftTree(std::vector<Node>()), "a draft tree has a root");
}

TEST(DraftTree, LawsHaveNames) {
  EXPECT_EQ(Name(DrawKind::kIndependent), "independent");
  EXPECT_EQ(Name(DrawKind::kWithoutReplacement), "without_replacement");
  EXPECT_EQ(Name(DrawKind::kDeterministic), "deterministic");
}

}  // namespace
}  // namespace banyan
