#include "tree/optimize/hardware.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tree/optimize_trees.h"
#include "tree/optimize/cost_curve.h"
#include "tree/optimize/sequoia_table.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;
using Milliseconds = std::map<int, double>;

constexpr double kTolerance = 1e-12;

CostCurve Curve(const Milliseconds& ms) {
  return CostCurve::FromMap("ms", ms).value();
}

// Times that mostly rise with the pass, now and then sharply.
Milliseconds RandomTimes(std::mt19937_64& bits, int last) {
  Milliseconds ms;
  double time = 1 + Uniform(bits);
  for (int key = 1; key < last; key += 1 + static_cast<int>(bits() % 3)) {
    ms[key] = time;
    time *= bits() % 5 == 0 ? 0.5 + Uniform(bits) : 1 + 0.2 * Uniform(bits);
  }
  ms[last] = time;
  return ms;
}

HardwareOptions RandomOptions(std::mt19937_64& bits, int budget) {
  HardwareOptions options;
  options.limits.acceptance = RandomAcceptance(bits, /*sorted=*/false);
  options.limits.nodes = budget;
  options.limits.levels = static_cast<int>(bits() % 5);
  options.limits.width = static_cast<int>(bits() % 4);
  options.sequences = 1 + static_cast<int>(bits() % 4);
  options.target_ms =
      Curve(RandomTimes(bits, options.sequences * (budget + 1)));
  options.draft_ms = bits() % 4 == 0 ? 0 : 0.5 * Uniform(bits);
  return options;
}

// Ranks without an acceptance are never drawn, not even to reach a size whose
// pass happens to be faster.
bool Allows(const SequoiaOptions& limits, const Shape& tree) {
  return tree.size() - 1 <= limits.nodes &&
         Width(tree) <= static_cast<int>(limits.acceptance.size()) &&
         (limits.levels == 0 || Height(tree) <= limits.levels) &&
         (limits.width == 0 || Width(tree) <= limits.width);
}

TEST(Hardware, EqualsBruteForceOverAllSmallTrees) {
  constexpr int kBudget = 7;
  const std::vector<Shape> trees = AllTrees(kBudget + 1);
  std::mt19937_64 bits(6);
  for (int i = 0; i < 300; ++i) {
    const HardwareOptions options = RandomOptions(bits, kBudget);
    double best = 0;
    for (const Shape& tree : trees) {
      if (!Allows(options.limits, tree)) continue;
      const double ms = Height(tree) * std::get<double>(options.draft_ms) +
                        *options.target_ms.At(options.sequences * tree.size());
      best =
          std::max(best, ExpectedTokens(tree, options.limits.acceptance) / ms);
    }
    const absl::StatusOr<HardwareChoice> choice = FastestTree(options);
    ASSERT_TRUE(choice.ok()) << choice.status();
    ASSERT_NEAR(choice->tokens_per_ms, best, kTolerance) << "case " << i;
    ASSERT_TRUE(Allows(options.limits, choice->shape)) << "case " << i;
  }
}

// Written without regard to hardware.cc: counts each level's parents.
double RoundMs(const HardwareOptions& options, const Shape& tree) {
  std::vector<int> widths(static_cast<std::size_t>(Height(tree)));
  const std::vector<int> depths = Depths(tree);
  const std::vector<std::vector<int>> children = Children(tree);
  for (std::size_t node = 0; node < children.size(); ++node) {
    if (children[node].empty()) continue;
    ++widths[static_cast<std::size_t>(depths[node])];
  }
  double ms = *options.target_ms.At(options.sequences * tree.size());
  for (const int width : widths) {
    ms += *std::get<CostCurve>(options.draft_ms).At(options.sequences * width);
  }
  return ms;
}

TEST(Hardware, EqualsBruteForceOverSizesAndDepthsUnderADraftCurve) {
  constexpr int kBudget = 24;
  std::mt19937_64 bits(7);
  for (int i = 0; i < 100; ++i) {
    HardwareOptions options = RandomOptions(bits, kBudget);
    options.draft_ms = Curve(RandomTimes(bits, options.sequences * kBudget));
    SequoiaTable table(UsableAcceptance(options.limits), kBudget + 1);
    double best = 1 / *options.target_ms.At(options.sequences);
    const int depths = options.limits.levels;
    for (int depth = 1; depth <= (depths > 0 ? depths : kBudget); ++depth) {
      table.Deepen();
      for (int n = 2; n <= kBudget + 1; ++n) {
        if (!(table.Best(n, depth) > 0)) continue;
        const Shape tree = table.Tree(n, depth);
        best = std::max(best, table.Best(n, depth) / RoundMs(options, tree));
      }
    }
    const absl::StatusOr<HardwareChoice> choice = FastestTree(options);
    ASSERT_TRUE(choice.ok()) << choice.status();
    ASSERT_NEAR(choice->tokens_per_ms, best, kTolerance) << "case " << i;
    ASSERT_NEAR(choice->round_ms, RoundMs(options, choice->shape), kTolerance);
  }
}

HardwareOptions Example(const Milliseconds& target_ms, double draft_ms) {
  HardwareOptions options;
  options.limits = {{0.6, 0.2, 0.1}, 40, 0, 0};
  options.target_ms = Curve(target_ms);
  options.draft_ms = draft_ms;
  return options;
}

TEST(Hardware, TakesTheLargestTreeWhenTimeDoesNotGrow) {
  const HardwareOptions options = Example({{1, 10}, {41, 10}}, 0);
  const absl::StatusOr<HardwareChoice> choice = FastestTree(options);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->nodes, 40);
  EXPECT_NEAR(choice->expected_tokens,
              BestTree(options.limits)->expected_tokens, kTolerance);
}

TEST(Hardware, DraftsNothingWhenTimeGrowsAsFastAsTokens) {
  const absl::StatusOr<HardwareChoice> choice =
      FastestTree(Example({{1, 10}, {2, 20}, {41, 500}}, 0));
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->nodes, 0);
  EXPECT_EQ(choice->levels, 0);
  EXPECT_EQ(choice->shape.size(), 1);
  EXPECT_EQ(choice->speedup, 1);
}

TEST(Hardware, ReportsTheTimesOfWhatItChose) {
  const HardwareOptions options = Example({{1, 10}, {8, 10.5}, {41, 30}}, 1.5);
  const absl::StatusOr<HardwareChoice> choice = FastestTree(options);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->nodes, choice->shape.size() - 1);
  EXPECT_EQ(choice->levels, Height(choice->shape));
  EXPECT_GT(choice->levels, 0);
  EXPECT_NEAR(choice->expected_tokens,
              ExpectedTokens(choice->shape, options.limits.acceptance),
              kTolerance);
  EXPECT_NEAR(choice->round_ms,
              1.5 * choice->levels + *options.target_ms.At(choice->nodes + 1),
              kTolerance);
  EXPECT_NEAR(choice->tokens_per_ms, choice->expected_tokens / choice->round_ms,
              kTolerance);
  EXPECT_NEAR(choice->speedup, choice->tokens_per_ms * 10, kTolerance);
}

TEST(Hardware, GivesTiesToTheFewestNodes) {
  // A second node gains exactly the share of time it costs.
  HardwareOptions options = Example({{1, 1}, {2, 1}, {3, 1.25}}, 0);
  options.limits = {{0.5, 0.375}, 2, 0, 0};
  const absl::StatusOr<HardwareChoice> choice = FastestTree(options);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->tokens_per_ms, 1.5);
  EXPECT_EQ(choice->nodes, 1);
}

// Tables of all depths would be refused: of trees that settle after a few
// levels, and of chains whose levels cost more than they bring.
TEST(Hardware, DeepensNoFurtherThanADeeperTreeCouldWin) {
  HardwareOptions wide;
  wide.limits = {std::vector<double>(20, 0.04), 2000, 0, 0};
  wide.target_ms = Curve({{1, 10}, {2001, 10}});
  wide.draft_ms = 0.0;
  HardwareOptions chain = wide;
  chain.limits = {{0.5}, 6000, 0, 0};
  chain.target_ms = Curve({{1, 10}, {6001, 10}});
  chain.draft_ms = 5.0;
  for (const HardwareOptions& options : {wide, chain}) {
    const int budget = options.limits.nodes;
    EXPECT_FALSE(SequoiaTable::CheckSize(
                     budget + 1, options.limits.acceptance.size(), budget)
                     .ok());
    const absl::StatusOr<HardwareChoice> choice = FastestTree(options);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_LT(choice->levels, 20);
  }
}

std::string HardwareError(const HardwareOptions& options) {
  return std::string(FastestTree(options).status().message());
}

TEST(Hardware, NamesTheKeyThatTheTargetCurveLacks) {
  EXPECT_THAT(HardwareError(Example({{1, 10}, {40, 12}}, 0)),
              HasSubstr("add the key 41"));
  EXPECT_THAT(HardwareError(Example({{2, 10}, {41, 12}}, 0)),
              HasSubstr("add the key 1"));
}

TEST(Hardware, NeedsTheDraftCurveOnlyWhereAWiderPassCouldWin) {
  HardwareOptions options = Example({{1, 10}, {41, 10}}, 0);
  options.draft_ms = Curve({{1, 0.1}, {2, 0.1}});
  EXPECT_THAT(HardwareError(options), HasSubstr("given from 1 to 2"));
  options.target_ms = Curve({{1, 10}, {3, 10}, {4, 30}, {41, 400}});
  const absl::StatusOr<HardwareChoice> narrow = FastestTree(options);
  ASSERT_TRUE(narrow.ok()) << narrow.status();
  EXPECT_EQ(narrow->nodes, 2);
}

TEST(Hardware, DoesNotNeedTheDraftCurveForTreesThatLoseInTheEnd) {
  // Among shallow trees one with a pass of two tokens leads; the chain wins.
  HardwareOptions options = Example({{1, 10}, {7, 10}}, 0);
  options.limits = {{0.9, 0.1}, 6, 0, 0};
  options.draft_ms = Curve({{1, 0.01}});
  const absl::StatusOr<HardwareChoice> chain = FastestTree(options);
  ASSERT_TRUE(chain.ok()) << chain.status();
  EXPECT_EQ(chain->levels, 6);
}

TEST(Hardware, SaysWhatIsImpossible) {
  HardwareOptions options = Example({{1, 10}, {41, 12}}, -1);
  EXPECT_THAT(HardwareError(options), HasSubstr("draft_ms is -1"));
  options.draft_ms = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(HardwareError(options), HasSubstr("draft_ms is nan"));
  options.draft_ms = Curve({{2, 1}});
  EXPECT_THAT(HardwareError(options), HasSubstr("add the key 1"));
  options.draft_ms = 1.0;
  options.limits.nodes = -1;
  EXPECT_THAT(HardwareError(options), HasSubstr("nodes is -1"));
}

}  // namespace
}  // namespace banyan
