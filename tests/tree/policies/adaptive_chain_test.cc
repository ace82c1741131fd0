#include "tree/policies/adaptive_chain.h"

#include <cstdint>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/policies/catalogue.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

using ::testing::ElementsAre;

// Certain of 1, 2, 3 in turn, then undecided between 4 and 5.
Distribution SureThenUnsure(absl::Span<const TokenId> text) {
  if (text.size() <= 3)
    return Distribution::Dense(
        text.size() == 1   ? std::vector<double>{0, 1, 0, 0, 0, 0}
        : text.size() == 2 ? std::vector<double>{0, 0, 1, 0, 0, 0}
                           : std::vector<double>{0, 0, 0, 1, 0, 0});
  return Distribution::Dense({0.1, 0.1, 0.1, 0.1, 0.25, 0.35});
}

TrunkTree Grown(const AdaptiveChainOptions& options, DrawKind draw_kind,
                std::uint64_t seed = 0) {
  TableDrafter drafter(SureThenUnsure);
  return MustDraft(
      drafter, AdaptiveChain(options),
      {.draw_kind = draw_kind, .seed = seed, .context = ContextOf({9})});
}

TEST(AdaptiveChain, ASureDrafterDraftsTheWholeLength) {
  for (OnLow on_low : {OnLow::kKeepAndStop, OnLow::kDrop, OnLow::kStopBefore})
    EXPECT_EQ(ToText(Grown({.nodes = 3, .threshold = 0.9, .on_low = on_low},
                           DrawKind::kIndependent)),
              "9(1(2(3)))");
}

TEST(AdaptiveChain, ThresholdZeroNeverStops) {
  for (OnLow on_low : {OnLow::kKeepAndStop, OnLow::kDrop, OnLow::kStopBefore})
    EXPECT_EQ(Grown({.nodes = 8, .threshold = 0, .on_low = on_low},
                    DrawKind::kIndependent)
                  .size(),
              9);
}

TEST(AdaptiveChain, KeepAndStopKeepsTheUnsureTokenAndDraftsNoFurther) {
  for (DrawKind draw_kind : kDrawKinds) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const TrunkTree tree =
          Grown({.nodes = 8, .threshold = 0.4}, draw_kind, seed);
      ASSERT_EQ(tree.size(), 5) << ToText(tree);
      EXPECT_EQ(tree.draws(3).size(), 1);
      EXPECT_FALSE(tree.draws(3)[0].dropped());
    }
  }
}

TEST(AdaptiveChain, DropGivesTheUnsureTokenUpAsARefusedRound) {
  bool kept = false;
  bool dropped = false;
  for (DrawKind draw_kind : kDrawKinds) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const TrunkTree tree =
          Grown({.nodes = 5, .threshold = 0.3, .on_low = OnLow::kDrop},
                draw_kind, seed);
      ASSERT_GE(tree.size(), 4) << ToText(tree);
      ASSERT_EQ(tree.draws(3).size(), 1);
      const Draw& draw = tree.draws(3)[0];
      EXPECT_EQ(draw.dropped(), draw.token != 5) << ToText(tree);
      if (draw_kind == DrawKind::kDeterministic) continue;
      EXPECT_THAT(Masses(draw.proposal),
                  ElementsAre(0, 0, 0, 0, 0, testing::DoubleNear(0.35, 1e-15)))
          << "judged by what would have been kept, not renormalised";
      (draw.dropped() ? dropped : kept) = true;
    }
  }
  EXPECT_TRUE(kept && dropped);
}

TEST(AdaptiveChain, StopBeforeSpendsNoDraw) {
  for (DrawKind draw_kind : kDrawKinds) {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      EXPECT_EQ(
          ToText(Grown(
              {.nodes = 8, .threshold = 0.4, .on_low = OnLow::kStopBefore},
              draw_kind, seed)),
          "9(1(2(3)))");
    EXPECT_GE(
        Grown({.nodes = 8, .threshold = 0.3, .on_low = OnLow::kStopBefore},
              draw_kind)
            .size(),
        5)
        << "the largest mass is 0.35, whichever token is drawn";
  }
}

// A round whose verdict keeps the first `accepted` of what trunk 0 drafted.
void ObserveRound(AdaptiveChain& policy, const DraftTree& tree, int accepted) {
  Verdict verdict;
  for (int node = 0; accepted > 0; --accepted) {
    node = tree.node(node).children.front();
    verdict.path.push_back(node);
  }
  policy.Observe({tree, verdict, 0});
}

int Length(const AdaptiveChain& policy) {
  TableDrafter drafter(SureThenUnsure);
  return MustDraft(drafter, policy, {.context = ContextOf({9})}).size() - 1;
}

TEST(AdaptiveChain, GrowsByTwoAndShrinksByOne) {
  AdaptiveChain policy({.nodes = 3, .threshold = 0, .adjust = true});
  EXPECT_EQ(Length(policy), 3);
  ObserveRound(policy, ParseTree("9(1(2(3)))"), 3);
  EXPECT_EQ(Length(policy), 5);
  ObserveRound(policy, ParseTree("9(1(2(3(4(5)))))"), 4);
  EXPECT_EQ(Length(policy), 4);
  ObserveRound(policy, ParseTree("9(1(2(3(4))))"), 0);
  EXPECT_EQ(Length(policy), 3);
}

TEST(AdaptiveChain, StaysBetweenOneAndItsMaximum) {
  AdaptiveChain policy(
      {.nodes = 2, .threshold = 0, .adjust = true, .max_nodes = 3});
  ObserveRound(policy, ParseTree("9(1(2))"), 2);
  EXPECT_EQ(Length(policy), 3);
  for (int round = 0; round < 5; ++round)
    ObserveRound(policy, ParseTree("9(1(2))"), 1);
  EXPECT_EQ(Length(policy), 1);
}

TEST(AdaptiveChain, AFirstLengthAboveItsMaximumIsRefused) {
  const auto build = [](const std::string& spec) {
    return BuildPolicy(ParseYaml(Section(spec), spec).value()).status();
  };
  const absl::Status status =
      build("adaptive_chain {nodes: 5, adjust: true, max_nodes: 4}");
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("must be at least nodes"));
  EXPECT_THAT(
      std::string(build("adaptive_chain {nodes: 3, max_nodes: 4}").message()),
      testing::HasSubstr("belongs to adjust"));
  EXPECT_TRUE(
      build("adaptive_chain {nodes: 4, adjust: true, max_nodes: 4}").ok());
}

TEST(AdaptiveChain, WithoutAdjustNothingIsLearnt) {
  AdaptiveChain policy({.nodes = 2, .threshold = 0});
  ObserveRound(policy, ParseTree("9(1(2))"), 2);
  EXPECT_EQ(Length(policy), 2);
}

TEST(AdaptiveChain, ARoundThatDrewNothingChangesNothing) {
  AdaptiveChain policy({.nodes = 3, .threshold = 0, .adjust = true});
  ObserveRound(policy, ParseTree("9"), 0);
  EXPECT_EQ(Length(policy), 3);
  // Another trunk drew, this one did not.
  ObserveRound(policy, ParseTree("9( | 1(2))"), 1);
  EXPECT_EQ(Length(policy), 3);
}

TEST(AdaptiveChain, ADroppedDrawDoesNotCount) {
  AdaptiveChain policy({.nodes = 3, .threshold = 0, .adjust = true});
  ObserveRound(policy, ParseTree("9(~1)"), 0);
  EXPECT_EQ(Length(policy), 3);
  ObserveRound(policy, ParseTree("9(1(~2))"), 1);
  EXPECT_EQ(Length(policy), 5);
}

TEST(AdaptiveChain, OnlyItsOwnTrunkCounts) {
  AdaptiveChain policy({.nodes = 3, .threshold = 0, .adjust = true});
  const DraftTree tree = ParseTree("9(1(2) | 1 3(4(5)))");
  ASSERT_EQ(tree.node(3).token, 3);
  policy.Observe({tree, {.path = {3, 4, 5}}, 0});
  EXPECT_EQ(Length(policy), 2) << "the path left the chain at the root";
  policy.Observe({tree, {.path = {1, 2}}, 0});
  EXPECT_EQ(Length(policy), 4);
  // The other trunk carried on below the end of this one's chain.
  policy.Observe({ParseTree("9(1( | 2))"), {.path = {1, 2}}, 0});
  EXPECT_EQ(Length(policy), 6);
}

// Returns the threshold after a round with three draft tokens, `accepted` of
// them accepted.
double ThresholdAfter(AdaptiveChain& policy, int accepted) {
  ObserveRound(policy, ParseTree("9(1(2(3)))"), accepted);
  return policy.State()[1];
}

TEST(AdaptiveChain, RefitsItsThresholdTowardsItsGoal) {
  AdaptiveChain policy(
      {.nodes = 4, .threshold = 0.5, .goal = 0.5, .step = 0.1});
  const auto expect_near = [](double is, double should) {
    EXPECT_NEAR(is, should, 1e-12);
  };
  // The means: 1/3, 2/3, 1/2 (the goal is reached), 1/4, 5/8.
  expect_near(ThresholdAfter(policy, 2), 0.6);
  expect_near(ThresholdAfter(policy, 3), 0.5);
  expect_near(ThresholdAfter(policy, 1), 0.4);
  expect_near(ThresholdAfter(policy, 0), 0.5);
  expect_near(ThresholdAfter(policy, 3), 0.4);
}

TEST(AdaptiveChain, RefitsDownwardsOnlyIfTheChainCouldHaveBeenLonger) {
  AdaptiveChain longest(
      {.nodes = 3, .threshold = 0.5, .goal = 0.4, .step = 0.1});
  EXPECT_EQ(ThresholdAfter(longest, 3), 0.5);
  EXPECT_EQ(ThresholdAfter(longest, 0), 0.6);  // the mean is 1/4
  // Full length is what `adjust` has made of it, before the round.
  AdaptiveChain both(
      {.nodes = 3, .threshold = 0.5, .adjust = true, .goal = 0.4, .step = 0.1});
  EXPECT_EQ(ThresholdAfter(both, 3), 0.5);
  EXPECT_EQ(both.State()[0], 5);
  EXPECT_EQ(ThresholdAfter(both, 3), 0.4);
}

TEST(AdaptiveChain, KeepsTheThresholdBetweenNoneAndOne) {
  AdaptiveChain policy(
      {.nodes = 4, .threshold = 0.5, .goal = 0.4, .step = 0.8});
  EXPECT_EQ(ThresholdAfter(policy, 0), 1);
  EXPECT_EQ(ThresholdAfter(policy, 0), 1);
  EXPECT_NEAR(ThresholdAfter(policy, 3), 0.2, 1e-12);
  EXPECT_EQ(ThresholdAfter(policy, 3), 0);
}

TEST(AdaptiveChain, DraftsByTheThresholdAsItWasRefitted) {
  // The fourth token has mass 0.1, 0.25 or 0.35, and stops the chain at 0.4.
  AdaptiveChain policy(
      {.nodes = 6, .threshold = 0.4, .goal = 0.4, .step = 0.4});
  EXPECT_EQ(Length(policy), 4);
  EXPECT_EQ(ThresholdAfter(policy, 3), 0);
  EXPECT_EQ(Length(policy), 6);
  const auto clone = policy.Clone();
  EXPECT_EQ(clone->State(), policy.State());
  EXPECT_EQ(ThresholdAfter(policy, 0), 0.4);
  EXPECT_EQ(clone->State()[1], 0) << "a clone is another one";
}

TEST(AdaptiveChain, RefitsByItsOwnTrunkAndNotWithoutADraft) {
  AdaptiveChain policy(
      {.nodes = 4, .threshold = 0.5, .goal = 0.5, .step = 0.1});
  const std::vector<double> first = policy.State();
  ObserveRound(policy, ParseTree("9"), 0);
  ObserveRound(policy, ParseTree("9( | 1(2))"), 1);
  EXPECT_EQ(policy.State(), first);
  // Of its chain of two, one was accepted before the path left it.
  const DraftTree tree = ParseTree("9(1(2 | 3(4)))");
  policy.Observe({tree, {.path = {1, 3, 4}}, 0});
  EXPECT_EQ(policy.State()[2], 0.25);
}

// A device that runs rounds alone would draft by the threshold of the first.
TEST(AdaptiveChain, HasNoShapeOnADevice) {
  EXPECT_FALSE(AdaptiveChain({.nodes = 3, .goal = 0.5}).device_shape());
}

// The length alone is learnt, or the threshold alone.
TEST(AdaptiveChain, LearnsOnlyWhatItIsToldTo) {
  AdaptiveChain lengths({.nodes = 4, .threshold = 0.5, .adjust = true});
  EXPECT_EQ(ThresholdAfter(lengths, 0), 0.5);
  AdaptiveChain thresholds({.nodes = 3, .threshold = 0.5, .goal = 0.5});
  EXPECT_EQ(ThresholdAfter(thresholds, 0), 0.501);
  EXPECT_EQ(thresholds.State()[0], 3);
}

TEST(AdaptiveChain, ACloneHasTheLengthThatWasLearnt) {
  AdaptiveChain policy({.nodes = 3, .threshold = 0, .adjust = true});
  const std::vector<double> first = policy.State();
  EXPECT_FALSE(first.empty());
  ObserveRound(policy, ParseTree("9(1(2(3)))"), 3);
  EXPECT_NE(first, policy.State());
  const auto clone = policy.Clone();
  ObserveRound(policy, ParseTree("9(1(2(3)))"), 0);
  EXPECT_NE(Length(policy), 5);
  EXPECT_EQ(Length(dynamic_cast<AdaptiveChain&>(*clone)), 5);
}

}  // namespace
}  // namespace banyan
