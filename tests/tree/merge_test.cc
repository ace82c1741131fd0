#include "tree/merge.h"

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "gtest/gtest.h"
#include "tests/support/shared_models.h"
#include "tests/support/tree_text.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

std::vector<TrunkTree> Trunks(const std::vector<absl::string_view>& texts) {
  std::vector<TrunkTree> trunks;
  for (absl::string_view text : texts)
    trunks.push_back(ParseGrowth(text, static_cast<int>(trunks.size()),
                                 DrawKind::kIndependent, 8,
                                 trunks.empty() ? 0 : trunks.back().now()));
  return trunks;
}

std::string Merged(const std::vector<absl::string_view>& texts) {
  const DraftTree tree = Merge(Trunks(texts));
  EXPECT_EQ(CheckInvariants(tree.nodes()), absl::OkStatus());
  return ToText(tree);
}

TEST(Merge, PutsOneTrunkInDepthFirstOrder) {
  // Grown level by level.
  const DraftTree tree = Merge(Trunks({"9(1(3(7) 4) 2(5 6))"}));
  std::vector<TokenId> tokens;
  for (const Node& node : tree.nodes()) tokens.push_back(node.token);
  EXPECT_EQ(tokens, (std::vector<TokenId>{9, 1, 3, 7, 4, 2, 5, 6}));
  EXPECT_EQ(ToText(tree), "9(1(3(7) 4) 2(5 6))");
}

TEST(Merge, ABareRootIsATree) { EXPECT_EQ(Merged({"9"}), "9"); }

TEST(Merge, RepeatedAndDroppedDrawsOfATrunkKeepTheirTime) {
  EXPECT_EQ(Merged({"9(2 1(3 3) ~4 2 1)"}), "9(2 1(3 3) ~4 2 1)");
}

TEST(Merge, EqualPathsOfTwoTrunksBecomeOneNode) {
  EXPECT_EQ(Merged({"9(1(2(5)) 3)", "9(3(1) 1(2(6) 4))"}),
            "9(1(2(5 | 6) | 2 4) 3( | 1) | 3 1)");
}

TEST(Merge, ChildrenStandInTheOrderOfTheirFirstDraw) {
  const DraftTree tree = Merge(Trunks({"9(3 1)", "9(4 1 2)", "9(5 2 3)"}));
  std::vector<TokenId> tokens;
  for (int child : tree.node(0).children)
    tokens.push_back(tree.node(child).token);
  EXPECT_EQ(tokens, (std::vector<TokenId>{3, 1, 4, 2, 5}));
}

// Two trunks take turns: 3 and 5 from the first, 5 and 4 from the second.
TEST(Merge, ChildrenAndDrawsStandInTimeWhereTrunksTakeTurns) {
  const Distribution q = Distribution::Dense(std::vector<double>(6, 1 / 6.0));
  TrunkTree a(9, 0, DrawKind::kIndependent);
  TrunkTree b(9, 1, DrawKind::kIndependent);
  a.SetProposal(0, {q});
  b.SetProposal(0, {q});
  a.AddDraw(0, 3, q);
  b.SetNow(a.now());
  b.AddDraw(0, 5, q);
  b.AddDraw(0, 4, q);
  a.SetNow(b.now());
  a.AddDraw(0, 5, q);
  const DraftTree tree = Merge({{a, b}});
  EXPECT_EQ(CheckInvariants(tree.nodes()), absl::OkStatus());
  std::vector<TokenId> children;
  for (int child : tree.node(0).children)
    children.push_back(tree.node(child).token);
  EXPECT_EQ(children, (std::vector<TokenId>{3, 5, 4}));
  std::vector<TokenId> draws;
  for (const Draw* draw : DrawsInTime(tree.node(0)))
    draws.push_back(draw->token);
  EXPECT_EQ(draws, (std::vector<TokenId>{3, 5, 4, 5}));
}

TEST(Merge, ThreeTrunksMeetAtEveryDepth) {
  EXPECT_EQ(Merged({"9(1(2(3)))", "9(1(2(4)))", "9(1(5) 2)"}),
            "9(1(2(3 | 4) | 2 | 5) | 1 | 1 2)");
}

TEST(Merge, ATrunkThatDrewNothingLeavesNoList) {
  const DraftTree tree = Merge(Trunks({"9", "9(1)", "9(1(2))"}));
  EXPECT_EQ(ToText(tree), "9( | 1( |  | 2) | 1)");
  ASSERT_EQ(tree.node(0).lists.size(), 2);
  EXPECT_EQ(tree.node(0).lists[0].trunk, 1);
  EXPECT_EQ(tree.node(0).lists[1].trunk, 2);
}

TEST(Merge, RepeatedDrawsWithinAndAcrossTrunksPointToOneChild) {
  const DraftTree tree = Merge(Trunks({"9(1 2 1)", "9(2 1 2)"}));
  EXPECT_EQ(tree.size(), 3);
  for (const DrawList& list : tree.node(0).lists)
    for (const Draw& draw : list.draws)
      EXPECT_EQ(draw.child, tree.Child(0, draw.token));
  EXPECT_EQ(ToText(tree), "9(1 2 1 | 2 1 2)");
}

TEST(Merge, WhatOneTrunkDroppedAnotherMayKeep) {
  EXPECT_EQ(Merged({"9(~2 1)", "9(2(3))"}), "9(~2 1 | 2( | 3))");
}

TEST(Merge, ProbesAreNeverMergedAndComeLast) {
  // Trunk 0 probes what trunk 1 draws, and below a node that both drew.
  EXPECT_EQ(Merged({"9(1(*4) *2(*3))", "9(2(3) 1(4))"}),
            "9(1(*4 | 4) *2(*3) | 2( | 3) 1)");
  const DraftTree tree = Merge(Trunks({"9(*2 1)", "9(*2 3)"}));
  ASSERT_EQ(tree.node(0).children.size(), 4);
  EXPECT_FALSE(tree.node(tree.node(0).children[0]).probe());
  EXPECT_FALSE(tree.node(tree.node(0).children[1]).probe());
  EXPECT_EQ(tree.node(tree.node(0).children[2]).probe_of, 0);
  EXPECT_EQ(tree.node(tree.node(0).children[3]).probe_of, 1);
}

TEST(Merge, KeepsLawsFlagsAndProposals) {
  std::vector<TrunkTree> trunks = {
      ParseGrowth("9(1(2) 3 ~4)", 0, DrawKind::kWithoutReplacement),
      ParseGrowth("9(1(5))", 1, DrawKind::kDeterministic, 8, 4)};
  trunks[0].SetShared(1);
  const DraftTree tree = Merge(trunks);
  const std::vector<DrawList>& lists = tree.node(0).lists;
  ASSERT_EQ(lists.size(), 2);
  EXPECT_EQ(lists[0].draw_kind, DrawKind::kWithoutReplacement);
  EXPECT_EQ(lists[1].draw_kind, DrawKind::kDeterministic);
  EXPECT_FALSE(lists[0].shared_draws);
  EXPECT_TRUE(tree.node(1).lists[0].shared_draws);
  EXPECT_FALSE(tree.node(1).lists[1].shared_draws);
  EXPECT_TRUE(Equal(lists[0].proposal.q, trunks[0].proposal(0)->q));
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(
        Equal(lists[0].draws[i].proposal, trunks[0].draws(0)[i].proposal))
        << "draw " << i;
}

// The draws of `trunk` below one path, in tokens; dropped ones negative.
template <typename Tree>
std::vector<TokenId> DrawsOf(const Tree& tree, int node, int trunk) {
  std::vector<TokenId> tokens;
  for (const DrawList& list : tree.node(node).lists)
    if (list.trunk == trunk)
      for (const Draw& draw : list.draws)
        tokens.push_back(draw.dropped() ? -draw.token : draw.token);
  return tokens;
}

int NodeAt(const DraftTree& tree, const std::vector<TokenId>& path) {
  int node = 0;
  for (TokenId token : path)
    if (node >= 0) node = tree.Child(node, token);
  return node;
}

TrunkTree RandomTrunk(std::mt19937_64& bits, int trunk, int now) {
  const Distribution uniform = Distribution::Dense(std::vector<double>(5, 0.2));
  TrunkTree tree(9, trunk, DrawKind::kIndependent, now);
  for (int node = 0; node < tree.size() && tree.size() < 20; ++node) {
    tree.SetProposal(node, {uniform});
    for (auto draws = bits() % 4; draws > 0; --draws)
      tree.AddDraw(node, static_cast<TokenId>(bits() % 5), uniform);
  }
  return tree;
}

TEST(Merge, EveryDrawOfEveryTrunkIsFoundAgainAtItsPath) {
  std::mt19937_64 bits(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<TrunkTree> trunks;
    for (int trunk = 0; trunk <= round % 3; ++trunk)
      trunks.push_back(
          RandomTrunk(bits, trunk, trunks.empty() ? 0 : trunks.back().now()));
    const DraftTree tree = Merge(trunks);
    ASSERT_EQ(CheckInvariants(tree.nodes()), absl::OkStatus()) << ToText(tree);
    std::vector<bool> seen(static_cast<std::size_t>(tree.size()), false);
    seen[0] = true;
    for (const TrunkTree& trunk : trunks) {
      for (int node = 0; node < trunk.size(); ++node) {
        const int found = NodeAt(tree, TokensTo(trunk, node));
        ASSERT_GE(found, 0) << ToText(trunk) << " in " << ToText(tree);
        seen[static_cast<std::size_t>(found)] = true;
        EXPECT_EQ(DrawsOf(tree, found, trunk.trunk()),
                  DrawsOf(trunk, node, trunk.trunk()))
            << ToText(trunk) << " in " << ToText(tree);
      }
    }
    for (int node = 0; node < tree.size(); ++node)
      EXPECT_TRUE(seen[static_cast<std::size_t>(node)])
          << "node " << node << " of " << ToText(tree) << " is nobody's";
  }
}

}  // namespace
}  // namespace banyan
