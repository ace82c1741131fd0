#include "tree/policies/auto_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/merge.h"
#include "tree/optimize/cost_curve.h"
#include "tree/optimize/hardware.h"
#include "tree/optimize/shape.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

// A GPU's: many tokens cost what one does. A small CPU's: each costs more.
CostCurve Flat() { return *CostCurve::FromMap("flat", {{1, 10}, {65, 11}}); }
CostCurve Steep() {
  return *CostCurve::FromMap("steep", {{1, 1}, {4, 1.5}, {16, 4}, {65, 16}});
}

AutoOptions Options(CostCurve target_ms, double draft_ms = 0.05) {
  AutoOptions options;
  options.hardware.limits = {
      .acceptance = {0.5, 0.2, 0.08, 0.04}, .nodes = 32, .levels = 8};
  options.hardware.target_ms = std::move(target_ms);
  options.hardware.draft_ms = draft_ms;
  return options;
}

std::unique_ptr<AutoShape> Make(const AutoOptions& options) {
  auto policy = AutoShape::Make(options);
  Check(policy.ok(), policy.status().message());
  return *std::move(policy);
}

// One round of a policy in which the first `accepted` tokens of the leftmost
// path are accepted. Returns its drafted nodes.
int Play(AutoShape& policy, int accepted) {
  const Distribution uniform =
      Distribution::Dense(std::vector<double>(16, 1.0 / 16));
  TrunkTree growing(0, 0, DrawKind::kWithoutReplacement);
  for (auto next = policy.Next(growing); !next.empty();
       next = policy.Next(growing))
    for (const Expansion& expansion : next) {
      growing.SetProposal(expansion.node, {uniform});
      for (TokenId token = 0; token < expansion.draws; ++token)
        growing.AddDraw(expansion.node, token, uniform);
    }
  const DraftTree tree = Merge({&growing, 1});
  Verdict verdict;
  int at = 0;
  while (static_cast<int>(verdict.path.size()) < accepted &&
         !tree.node(at).children.empty()) {
    at = tree.node(at).children.front();
    verdict.path.push_back(at);
  }
  policy.Observe({tree, verdict, 0});
  return tree.size() - 1;
}

TEST(AutoShape, DraftsLessWhereSequencesShareAPassThatGrowsWithItsRows) {
  AutoOptions options =
      Options(*CostCurve::FromMap("cliff", {{1, 1}, {16, 3}, {64, 16}}), 0.01);
  options.hardware.limits.nodes = 7;
  const int alone = Make(options)->shape().size() - 1;
  options.hardware.sequences = 8;
  const int together = Make(options)->shape().size() - 1;
  EXPECT_GT(alone, 2);
  EXPECT_LT(together, alone);
}

TEST(AutoShape, BeginsWithTheCalibrationsBestShape) {
  for (const CostCurve& curve : {Flat(), Steep()}) {
    const AutoOptions options = Options(curve);
    EXPECT_EQ(Make(options)->shape().parents,
              FastestTree(options.hardware)->shape.parents);
  }
}

TEST(AutoShape, DraftsATreeWhereWideCostsLittleAndAChainWhereItCostsMuch) {
  const Shape wide = Make(Options(Flat()))->shape();
  EXPECT_GT(wide.size(), 20);
  const auto children = Children(wide);
  EXPECT_GT(children[0].size(), 1U);
  const Shape narrow = Make(Options(Steep()))->shape();
  EXPECT_LT(narrow.size(), 8);
}

// Predicted tokens a millisecond of a shape.
double Speed(const Shape& shape, const AutoOptions& options) {
  const double yield =
      ExpectedTokens(shape, options.hardware.limits.acceptance);
  const double ms = *options.hardware.target_ms.At(shape.size()) +
                    Height(shape) * std::get<double>(options.hardware.draft_ms);
  return yield / ms;
}

TEST(AutoShape, OnAFlatCurveBeatsEveryChain) {
  const AutoOptions options = Options(Flat());
  double chain = 0;
  for (int gamma = 0; gamma <= 32; ++gamma)
    chain = std::max(chain, Speed(Shape::Chain(gamma), options));
  EXPECT_GT(Speed(Make(options)->shape(), options), 1.1 * chain);
}

TEST(AutoShape, GivesUpOnAUselessDrafterAndAsksAgainAtTimes) {
  const AutoOptions options = Options(Steep(), 0.4);
  const auto policy = Make(options);
  double ms = 0;
  std::vector<int> trials;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    const int height = Height(policy->shape());
    const int nodes = Play(*policy, 0);
    ms += *options.hardware.target_ms.At(nodes + 1) + height * 0.4;
    if (nodes > 0 && round > 50) trials.push_back(round);
  }
  // Each round gives a token, as plain decoding's do, at 1 ms.
  EXPECT_LT(ms, 1.1 * kRounds);
  EXPECT_GT(trials.size(), 1U);
  for (std::size_t i = 2; i < trials.size(); ++i)
    EXPECT_EQ(trials[i] - trials[i - 1], 4 * options.trial + 1);
}

TEST(AutoShape, DoesNotAskWhereNoDrafterCouldPay) {
  // A drafted level costs what a token does.
  const auto policy = Make(Options(Steep(), 1));
  for (int round = 0; round < 200; ++round)
    EXPECT_EQ(Play(*policy, 1), 0) << round;
}

TEST(AutoShape, ComesBackWhenTheDrafterDoes) {
  const auto policy = Make(Options(Steep(), 0.1));
  for (int round = 0; round < 200; ++round) Play(*policy, 0);
  ASSERT_EQ(policy->shape().size(), 1);
  int drafted = 0;
  for (int round = 0; round < 400; ++round) drafted = Play(*policy, 32);
  EXPECT_GT(drafted, 2);
}

TEST(AutoShape, DraftsDeeperWhereEverythingIsAccepted) {
  const auto policy = Make(Options(Steep()));
  const int before = Height(policy->shape());
  for (int round = 0; round < 50; ++round) Play(*policy, 32);
  EXPECT_GT(Height(policy->shape()), before);
}

// One rank accepted half the time: the state is the count of accepted nodes,
// the idle rounds, the wait, and by level the count it expects.
AutoOptions OneRank() {
  AutoOptions options =
      Options(*CostCurve::FromMap("flat", {{1, 1}, {2, 1}}), 0);
  options.hardware.limits = {.acceptance = {0.5}, .nodes = 1};
  options.memory = 4;
  return options;
}

// The acceptance of one rank at a level: its odds are 2^(t / 2).
double AcceptanceAt(int level) {
  const double odds = std::exp2(0.5 * level);
  return odds / (1 + odds);
}

TEST(AutoShape, LevelsAreStepsOfRootTwoInTheOdds) {
  const std::vector<double> state = Make(OneRank())->State();
  ASSERT_EQ(state.size(), 3 + 25);
  EXPECT_EQ(state[0], 1);  // two nodes, accepted half the time
  for (int level = -12; level <= 12; ++level)
    EXPECT_NEAR(state[static_cast<std::size_t>(3 + 12 + level)],
                2 * AcceptanceAt(level), 1e-12)
        << level;
}

TEST(AutoShape, CountsFadeByTheMemory) {
  for (const int accepted : {0, 1}) {
    const auto policy = Make(OneRank());
    ASSERT_EQ(Play(*policy, accepted), 1);
    const std::vector<double> state = policy->State();
    EXPECT_EQ(state[0], 0.75 + accepted);
    for (int level = -12; level <= 12; ++level)
      EXPECT_NEAR(state[static_cast<std::size_t>(3 + 12 + level)],
                  (0.75 * 2 + 1) * AcceptanceAt(level), 1e-12)
          << level;
  }
}

// Neither a draw of another trunk, which was accepted, nor one that was
// dropped.
TEST(AutoShape, CountsOnlyDrawsOfItsOwnThatWereAccepted) {
  for (const char* text : {"9(1 | 2)", "9(~1)"}) {
    const auto policy = Make(OneRank());
    const DraftTree tree = ParseTree(text);
    Verdict verdict;
    if (tree.size() == 3) verdict.path = {2};
    policy->Observe({tree, verdict, 0});
    EXPECT_EQ(policy->State()[0], 0.75) << text;
  }
}

TEST(AutoShape, IsAChainOnlyIfAllItsShapesAre) {
  EXPECT_TRUE(Make(OneRank())->traits().chain);
  EXPECT_FALSE(Make(Options(Flat()))->traits().chain);
}

TEST(AutoShape, AClonePlaysOnFromWhatWasLearnt) {
  const auto policy = Make(Options(Steep()));
  for (int round = 0; round < 20; ++round) Play(*policy, round % 3);
  const std::vector<double> learnt = policy->State();
  EXPECT_NE(learnt, Make(Options(Steep()))->State());
  const auto clone = policy->Clone();
  EXPECT_EQ(clone->State(), learnt);
  for (int round = 0; round < 5; ++round) Play(*policy, 2);
  EXPECT_NE(policy->State(), learnt);
  EXPECT_EQ(clone->State(), learnt) << "a clone is another one";
  for (int round = 0; round < 5; ++round)
    Play(dynamic_cast<AutoShape&>(*clone), 2);
  EXPECT_EQ(clone->State(), policy->State());
}

}  // namespace
}  // namespace banyan
