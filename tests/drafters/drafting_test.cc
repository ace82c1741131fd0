#include "drafters/drafting.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/random/enumerating_source.h"
#include "core/random/random_source.h"
#include "drafters/drafter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/toys.h"
#include "tests/support/draft_trunk.h"
#include "tests/support/drafting.h"
#include "tests/support/fake_policy.h"
#include "tests/support/shared_models.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// Products and quotients of a few numbers.
constexpr double kRounding = 1e-15;

TableDrafter Always(const Distribution& law) {
  return TableDrafter([law](absl::Span<const TokenId>) { return law; });
}

// The probability of every list of tokens drawn at the root.
std::map<std::vector<TokenId>, double> LawOfDraws(const Distribution& proposal,
                                                  DrawKind draw_kind,
                                                  int draws) {
  TableDrafter drafter = Always(proposal);
  BlankSession session;
  const FakePolicy policy = FakePolicy::Once({.draws = draws});
  const Context context = ContextOf({0});
  std::map<std::vector<TokenId>, double> result;
  EnumeratingSource source(1000);
  do {
    const TrunkTree tree =
        DraftTrunk({drafter, session, policy, draw_kind, 0}, context,
                   {.max_depth = 9},
                   Chance(source, context.prompt, context.round))
            .value();
    std::vector<TokenId> tokens;
    for (const Draw& draw : tree.draws(0)) tokens.push_back(draw.token);
    result[tokens] += source.probability();
  } while (source.Advance());
  return result;
}

void ExpectLaw(const std::map<std::vector<TokenId>, double>& law,
               const std::map<std::vector<TokenId>, double>& expected) {
  ASSERT_EQ(law.size(), expected.size());
  for (const auto& [tokens, probability] : expected) {
    const auto found = law.find(tokens);
    ASSERT_NE(found, law.end());
    EXPECT_NEAR(found->second, probability, kRounding);
  }
}

TEST(Drafting, DrawsIndependentTokensFromTheProposal) {
  ExpectLaw(
      LawOfDraws(Distribution::Dense({0.7, 0.3}), DrawKind::kIndependent, 2),
      {{{0, 0}, 0.49}, {{0, 1}, 0.21}, {{1, 0}, 0.21}, {{1, 1}, 0.09}});
}

TEST(Drafting, DrawsWithoutReplacementFromWhatIsLeft) {
  ExpectLaw(LawOfDraws(Distribution::Dense({0.5, 0.3, 0.2}),
                       DrawKind::kWithoutReplacement, 2),
            {{{0, 1}, 0.5 * 0.3 / 0.5},
             {{0, 2}, 0.5 * 0.2 / 0.5},
             {{1, 0}, 0.3 * 0.5 / 0.7},
             {{1, 2}, 0.3 * 0.2 / 0.7},
             {{2, 0}, 0.2 * 0.5 / 0.8},
             {{2, 1}, 0.2 * 0.3 / 0.8}});
}

TEST(Drafting, WithoutReplacementEndsWithTheSupport) {
  ExpectLaw(LawOfDraws(Distribution::Dense({0, 0.6, 0, 0.4}),
                       DrawKind::kWithoutReplacement, 4),
            {{{1, 3}, 0.6}, {{3, 1}, 0.4}});
}

TEST(Drafting, NormalisesALawBeforeItDraws) {
  for (double factor : {0.25, 1., 3.}) {
    const auto scaled = Distribution::Dense({0.7 * factor, 0.3 * factor});
    ExpectLaw(LawOfDraws(scaled, DrawKind::kIndependent, 1),
              {{{0}, 0.7}, {{1}, 0.3}});
    for (DrawKind draw_kind :
         {DrawKind::kIndependent, DrawKind::kWithoutReplacement}) {
      TableDrafter drafter = Always(scaled);
      const TrunkTree tree =
          MustDraft(drafter, FakePolicy::Once({}), {.draw_kind = draw_kind});
      EXPECT_THAT(Masses(tree.draws(0)[0].proposal),
                  Pointwise(DoubleNear(kRounding), {0.7, 0.3}))
          << "the law a draw is judged by, factor " << factor;
    }
  }
}

TEST(Drafting, ScoresAboveOneMakeNoPathHeavierThanItsParent) {
  TableDrafter drafter = Always(Distribution::Dense({5, 3, 2}));
  const TrunkTree tree = MustDraft(drafter, *PolicyOf("chain {nodes: 3}"),
                                   {.draw_kind = DrawKind::kDeterministic});
  for (int node = 1; node < tree.size(); ++node)
    EXPECT_LE(tree.path_mass(node), tree.path_mass(node - 1));
  // Pruning requires that parents outweigh their children.
  const TrunkTree ranked = MustDraft(
      drafter, *PolicyOf("expand_rerank {width: 2, levels: 3, nodes: 3}"),
      {.draw_kind = DrawKind::kDeterministic});
  EXPECT_EQ(ToText(ranked), "0(0(0) 1)");
}

TEST(Drafting, TakesTheLargestMassesInOrderAndTheLowerTokenOnATie) {
  TableDrafter drafter = Always(Distribution::Dense({0.1, 0.3, 0.1, 0, 0.3}));
  const TrunkTree tree = MustDraft(drafter, FakePolicy::Once({.draws = 9}),
                                   {.draw_kind = DrawKind::kDeterministic});
  EXPECT_EQ(ToText(tree), "0(1 4 0 2)");
  for (const Draw& draw : tree.draws(0))
    EXPECT_TRUE(Equal(draw.proposal, Distribution::OneHot(5, draw.token)));
}

TEST(Drafting, DroppedDrawsAreJudgedByWhatWouldHaveBeenKept) {
  const auto proposal = Distribution::Dense({0.5, 0.3, 0.2});
  const FakePolicy policy =
      FakePolicy::Once({.draws = 3, .keep_at_least = 0.25});
  int dropped = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TableDrafter drafter = Always(proposal);
    const TrunkTree tree = MustDraft(drafter, policy, {.seed = seed});
    ASSERT_EQ(tree.draws(0).size(), 3);
    for (const Draw& draw : tree.draws(0)) {
      EXPECT_EQ(draw.dropped(), draw.token == 2) << ToText(tree);
      EXPECT_EQ(Masses(draw.proposal), (std::vector<double>{0.5, 0.3, 0}));
      dropped += draw.dropped() ? 1 : 0;
    }
    EXPECT_EQ(Masses(tree.node(0).lists[0].proposal.q), Masses(proposal))
        << "the drafter's own words";
  }
  EXPECT_GT(dropped, 0);
}

TEST(Drafting, WithoutReplacementADrawIsDroppedByTheLawItCameFrom) {
  // After 0 the other two weigh 0.6 and 0.4 of what is left.
  const FakePolicy policy =
      FakePolicy::Once({.draws = 2, .keep_at_least = 0.5});
  bool seen = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TableDrafter drafter = Always(Distribution::Dense({0.5, 0.3, 0.2}));
    const TrunkTree tree =
        MustDraft(drafter, policy,
                  {.draw_kind = DrawKind::kWithoutReplacement, .seed = seed});
    if (tree.draws(0)[0].token != 0) continue;
    seen = true;
    const Draw& second = tree.draws(0)[1];
    EXPECT_EQ(second.dropped(), second.token == 2);
    EXPECT_THAT(Masses(second.proposal),
                Pointwise(DoubleNear(kRounding), {0., 0.6, 0.}));
  }
  EXPECT_TRUE(seen);
}

TEST(Drafting, ADroppedDeterministicDrawGivesNothing) {
  TableDrafter drafter = Always(Distribution::Dense({0.5, 0.3, 0.2}));
  const TrunkTree tree =
      MustDraft(drafter, FakePolicy::Once({.draws = 3, .keep_at_least = 0.25}),
                {.draw_kind = DrawKind::kDeterministic});
  EXPECT_EQ(ToText(tree), "0(0 1 ~2)");
  EXPECT_TRUE(tree.draws(0)[2].proposal.empty());
  const DraftTree merged = Merge(absl::MakeConstSpan(&tree, 1));
  EXPECT_EQ(CheckInvariants(merged.nodes()), absl::OkStatus());
}

TEST(Drafting, ClosesNodesAtTheDepthLimit) {
  for (int depth = 0; depth <= 4; ++depth) {
    TableDrafter drafter(Toy({}));
    const TrunkTree tree =
        MustDraft(drafter, *PolicyOf("expansion {branching: [2, 2, 2]}"),
                  {.limits = {.max_depth = depth}});
    EXPECT_EQ(Merge(absl::MakeConstSpan(&tree, 1)).Height(),
              std::min(depth, 3));
    EXPECT_EQ(static_cast<int>(drafter.passes().size()), std::min(depth, 3));
    for (int node = 0; node < tree.size(); ++node)
      EXPECT_TRUE(tree.node(node).depth < depth || !tree.open(node));
  }
}

TEST(Drafting, DraftsNothingBelowAnEndOfText) {
  const std::vector<TokenId> ends = {1, 3};
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    TableDrafter drafter(Toy({.vocab_size = 5}));
    const TrunkTree tree = MustDraft(
        drafter, *PolicyOf("sequences {width: 5, levels: 4}"),
        {.limits = {.max_depth = 9, .end_of_text = ends}, .seed = seed});
    for (int node = 1; node < tree.size(); ++node) {
      const TokenId token = tree.node(node).token;
      const bool leaf = token == 1 || token == 3 || tree.node(node).depth == 4;
      EXPECT_EQ(tree.draws(node).empty(), leaf) << ToText(tree);
    }
  }
}

}  // namespace
}  // namespace banyan
