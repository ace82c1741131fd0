#include "tree/trunk_tree.h"

#include <cstddef>
#include <vector>

#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/shared_models.h"
#include "tests/support/tree_text.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

// Products and quotients of a few numbers.
constexpr double kRounding = 1e-15;

Distribution Law() { return Distribution::Dense({0.1, 0.4, 0.2, 0.3}); }

TrunkTree Started(DrawKind draw_kind, const Distribution& proposal = Law()) {
  TrunkTree tree(9, 0, draw_kind);
  tree.SetProposal(0, {proposal});
  return tree;
}

TEST(TrunkTree, StartsWithAnOpenRoot) {
  const TrunkTree tree(9, 2, DrawKind::kWithoutReplacement);
  EXPECT_EQ(tree.size(), 1);
  EXPECT_EQ(tree.node(0).token, 9);
  EXPECT_EQ(tree.node(0).depth, 0);
  EXPECT_EQ(tree.trunk(), 2);
  EXPECT_EQ(tree.draw_kind(), DrawKind::kWithoutReplacement);
  EXPECT_TRUE(tree.open(0));
  EXPECT_EQ(tree.proposal(0), nullptr);
  EXPECT_TRUE(tree.draws(0).empty());
  EXPECT_EQ(tree.path_mass(0), 1);
  EXPECT_EQ(tree.multiplicity(0), 1);
  EXPECT_EQ(tree.rank(0), -1);
}

TEST(TrunkTree, ARepeatedDrawLeadsToTheSameNodeOnceMore) {
  TrunkTree tree = Started(DrawKind::kIndependent);
  const int one = tree.AddDraw(0, 1, Law());
  EXPECT_EQ(tree.AddDraw(0, 1, Law()), one);
  const int three = tree.AddDraw(0, 3, Law());
  EXPECT_EQ(tree.AddDraw(0, 1, Law()), one);
  EXPECT_EQ(tree.size(), 3);
  EXPECT_EQ(tree.multiplicity(one), 3);
  EXPECT_EQ(tree.multiplicity(three), 1);
  EXPECT_EQ(tree.rank(one), 0) << "the draw that made it";
  EXPECT_EQ(tree.rank(three), 2);
  EXPECT_EQ(ToText(tree), "9(1 1 3 1)");
}

TEST(TrunkTree, ADroppedDrawIsKeptWithoutANode) {
  TrunkTree tree = Started(DrawKind::kIndependent);
  const Distribution kept = Law().KeepAtLeast(0.3);
  EXPECT_EQ(tree.AddDraw(0, 2, kept, true), Draw::kDropped);
  const int one = tree.AddDraw(0, 1, kept);
  EXPECT_EQ(tree.AddDraw(0, 2, kept, true), Draw::kDropped);
  EXPECT_EQ(tree.size(), 2);
  EXPECT_EQ(tree.rank(one), 1) << "a dropped draw takes its place in time";
  EXPECT_EQ(ToText(tree), "9(~2 1 ~2)");
  EXPECT_TRUE(Equal(tree.draws(0)[1].proposal, kept));
}

TEST(TrunkTree, PathMassIsTheProductOfTheDraftersMasses) {
  for (DrawKind draw_kind :
       {DrawKind::kIndependent, DrawKind::kWithoutReplacement,
        DrawKind::kDeterministic}) {
    const auto judged_by = [draw_kind](TokenId token) {
      return draw_kind == DrawKind::kDeterministic
                 ? Distribution::OneHot(4, token)
                 : Law();
    };
    TrunkTree tree = Started(draw_kind);
    const int one = tree.AddDraw(0, 1, judged_by(1));
    const int three = tree.AddDraw(0, 3, judged_by(3));
    tree.SetProposal(three, {Distribution::Dense({0.5, 0, 0, 0.5})});
    const int zero = tree.AddDraw(three, 0, judged_by(0));
    EXPECT_NEAR(tree.path_mass(one), 0.4, kRounding) << Name(draw_kind);
    EXPECT_NEAR(tree.path_mass(three), 0.3, kRounding) << Name(draw_kind);
    EXPECT_NEAR(tree.path_mass(zero), 0.15, kRounding) << Name(draw_kind);
  }
}

TEST(TrunkTree, IndependentDrawsLeaveTheProposalAsItWas) {
  TrunkTree tree = Started(DrawKind::kIndependent);
  tree.AddDraw(0, 1, Law());
  EXPECT_TRUE(Equal(tree.remaining(0), Law()));
}

TEST(TrunkTree, DrawsWithoutReplacementLeaveTheOthersInProportion) {
  TrunkTree tree = Started(DrawKind::kWithoutReplacement);
  tree.AddDraw(0, 1, tree.remaining(0));
  EXPECT_THAT(Masses(tree.remaining(0)),
              Pointwise(DoubleNear(kRounding), {1. / 6, 0., 2. / 6, 3. / 6}));
  tree.AddDraw(0, 3, tree.remaining(0).KeepAtLeast(0.4));
  EXPECT_THAT(Masses(tree.remaining(0)),
              Pointwise(DoubleNear(kRounding), {1. / 3, 0., 2. / 3, 0.}));
  tree.AddDraw(0, 2, tree.remaining(0).KeepAtLeast(0.9), true);
  EXPECT_THAT(Masses(tree.remaining(0)),
              Pointwise(DoubleNear(kRounding), {1., 0., 0., 0.}))
      << "a dropped draw was drawn too";
  tree.AddDraw(0, 0, tree.remaining(0));
  EXPECT_TRUE(tree.remaining(0).empty());
  EXPECT_TRUE(Equal(tree.proposal(0)->q, Law()))
      << "what the drafter said stays";
}

TEST(TrunkTree, TheCandidateIsTheLargestMassLeftAndOnATieTheLowerToken) {
  TrunkTree tree = Started(DrawKind::kDeterministic,
                           Distribution::Dense({0.2, 0.3, 0.2, 0.3, 0}));
  std::vector<TokenId> order;
  std::vector<double> masses;
  while (tree.candidate_mass(0) > 0) {
    const TokenId token = tree.candidate(0);
    order.push_back(token);
    masses.push_back(tree.candidate_mass(0));
    tree.AddDraw(0, token, Distribution::OneHot(5, token));
  }
  EXPECT_THAT(order, ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(masses, ElementsAre(0.3, 0.3, 0.2, 0.2)) << "of the proposal";
  EXPECT_EQ(tree.candidate_mass(0), 0);
}

TEST(TrunkTree, CloseAndAnEmptyProposalEndABranch) {
  TrunkTree tree = Started(DrawKind::kIndependent);
  const int one = tree.AddDraw(0, 1, Law());
  const int two = tree.AddDraw(0, 2, Law());
  EXPECT_TRUE(tree.open(one));
  tree.Close(one);
  EXPECT_FALSE(tree.open(one));
  tree.SetProposal(two, {Distribution::Dense({0, 0, 0, 0})});
  EXPECT_FALSE(tree.open(two));
  EXPECT_TRUE(tree.open(0));
}

TEST(TrunkTree, AProbeIsNeitherDrawnNorOpen) {
  TrunkTree tree(9, 3, DrawKind::kIndependent);
  tree.SetProposal(0, {Law()});
  const int probe = tree.AddProbe(0, 1);
  const int drawn = tree.AddDraw(0, 1, Law());
  EXPECT_NE(drawn, probe);
  EXPECT_EQ(tree.node(probe).probe_of, 3);
  EXPECT_FALSE(tree.open(probe));
  EXPECT_EQ(tree.draws(0).size(), 1);
  EXPECT_EQ(tree.node(tree.AddProbe(probe, 2)).parent, probe);
  EXPECT_EQ(tree.node(tree.AddProbe(drawn, 2)).probe_of, 3);
}

TEST(TrunkTree, PruneKeepsWhatIsNamedWithItsDraws) {
  TrunkTree tree =
      ParseGrowth("9(1(2 3) 4 5(6(7)))", 0, DrawKind::kDeterministic);
  ASSERT_EQ(tree.size(), 8);
  std::vector<int> keep;  // all but 4, 3 and what is below 6
  for (int node = 0; node < tree.size(); ++node)
    if (const TokenId token = tree.node(node).token;
        token != 4 && token != 3 && token != 6 && token != 7)
      keep.push_back(node);
  tree.Prune(keep);
  EXPECT_EQ(ToText(tree), "9(1(2) 5)");
  EXPECT_EQ(tree.size(), 4);
  for (int node = 1; node < tree.size(); ++node) {
    const int parent = tree.node(node).parent;
    EXPECT_EQ(
        tree.draws(parent)[static_cast<std::size_t>(tree.rank(node))].token,
        tree.node(node).token)
        << "the rank of node " << node;
  }
  tree.Prune({0});
  EXPECT_EQ(ToText(tree), "9");
}

TEST(TrunkTree, PruneKeepsProbesAndClosedNodes) {
  TrunkTree tree =
      ParseGrowth("9(1(3 *4) 2 *5(*6))", 1, DrawKind::kDeterministic);
  std::vector<int> keep;  // all but 2 and 3
  for (int node = 0; node < tree.size(); ++node) {
    const TokenId token = tree.node(node).token;
    if (token == 1) tree.Close(node);
    if (token != 2 && token != 3) keep.push_back(node);
  }
  tree.Prune(keep);
  EXPECT_EQ(tree.size(), 5);
  for (int node = 1; node < tree.size(); ++node) {
    EXPECT_FALSE(tree.open(node)) << tree.node(node).token;
    EXPECT_EQ(tree.node(node).probe_of, tree.node(node).token == 1 ? -1 : 1);
  }
  EXPECT_TRUE(tree.open(0));
  EXPECT_EQ(TokensTo(tree, tree.size() - 1), (std::vector<TokenId>{5, 6}));
}

TEST(TrunkTreeDeathTest, SampledDrawsCannotBePruned) {
  TrunkTree tree = ParseGrowth("9(1 2)");
  EXPECT_DEATH(tree.Prune({0, 1}), "deterministic");
}

TEST(TrunkTree, SharedDrawsAreMarked) {
  TrunkTree tree = ParseGrowth("9(1(2) 3(2))");
  tree.SetShared(2);
  EXPECT_FALSE(tree.node(1).lists.front().shared_draws);
  EXPECT_TRUE(tree.node(2).lists.front().shared_draws);
}

}  // namespace
}  // namespace banyan
