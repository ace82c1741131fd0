#include <cstddef>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/common.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tree/optimize_trees.h"
#include "tree/optimize/medusa.h"
#include "tree/optimize/sequoia.h"
#include "tree/optimize/sequoia_table.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Values of equal trees may be summed in different orders.
constexpr double kTolerance = 1e-12;
// The root and eight drafted nodes: 2,056 trees.
constexpr int kSmall = 9;

std::string Text(const SequoiaOptions& options) {
  return absl::StrCat("acceptance ", absl::StrJoin(options.acceptance, " "),
                      ", budget ", options.nodes, ", max_depth ",
                      options.levels, ", max_branching ", options.width);
}

// A small tree with all that the limits and the ties look at.
struct Measured {
  int nodes, height, width;
  double expected;
};

std::vector<Measured> Measure(const std::vector<double>& acceptance) {
  static const std::vector<Shape>* const trees =
      new std::vector<Shape>(AllTrees(kSmall));
  std::vector<Measured> measured;
  for (const Shape& tree : *trees) {
    measured.push_back({tree.size() - 1, Height(tree), Width(tree),
                        ExpectedTokens(tree, acceptance)});
  }
  return measured;
}

// The largest value within the limits; of the trees that attain it, the fewest
// nodes, and of these the least height.
Measured BruteForce(const std::vector<Measured>& trees,
                    const SequoiaOptions& options) {
  const int depth = options.levels > 0 ? options.levels : kSmall;
  // Ranks without an acceptance may be there, but gain nothing.
  const int width = options.width > 0 ? options.width : kSmall;
  const auto order = [](const Measured& tree) {
    return std::tuple(-tree.expected, tree.nodes, tree.height);
  };
  Measured best = {0, 0, 0, 1};
  for (const Measured& tree : trees) {
    if (tree.nodes <= options.nodes && tree.height <= depth &&
        tree.width <= width && order(tree) < order(best)) {
      best = tree;
    }
  }
  return best;
}

void ExpectLargestValue(const RatedShape& found, const Measured& best,
                        const SequoiaOptions& options) {
  ASSERT_NEAR(found.expected_tokens, best.expected, kTolerance);
  ASSERT_NEAR(ExpectedTokens(found.shape, options.acceptance),
              found.expected_tokens, kTolerance);
  ASSERT_LE(found.shape.size() - 1, options.nodes);
  if (options.levels > 0) {
    ASSERT_LE(Height(found.shape), options.levels);
  }
  if (options.width > 0) {
    ASSERT_LE(Width(found.shape), options.width);
  }
}

void ExpectSmallest(const RatedShape& found, const Measured& best,
                    const SequoiaOptions& options) {
  ASSERT_EQ(found.shape.size() - 1, best.nodes);
  if (options.levels > 0 && options.levels < options.nodes) {
    ASSERT_EQ(Height(found.shape), best.height);
  }
}

using Expectation = std::function<void(const RatedShape&, const Measured&,
                                       const SequoiaOptions&)>;

void ForAllLimits(const std::vector<double>& acceptance,
                  const Expectation& expect) {
  const std::vector<Measured> trees = Measure(acceptance);
  for (int budget = 0; budget < kSmall; ++budget) {
    for (int depth = 0; depth <= budget + 1; ++depth) {
      for (int branching = 0; branching <= budget + 1; ++branching) {
        const SequoiaOptions options = {acceptance, budget, depth, branching};
        SCOPED_TRACE(Text(options));
        const absl::StatusOr<RatedShape> found = BestTree(options);
        ASSERT_TRUE(found.ok()) << found.status();
        expect(*found, BruteForce(trees, options), options);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Sequoia, EqualsBruteForceOverAllSmallTrees) {
  std::mt19937_64 bits(2);
  for (int i = 0; i < 400; ++i) {
    ForAllLimits(RandomAcceptance(bits, /*sorted=*/i % 2 == 0),
                 ExpectLargestValue);
    if (HasFatalFailure()) return;
  }
}

// Powers of two add up exactly, so that trees tie when they should.
TEST(Sequoia, GivesTiesToTheFewestNodesThenTheLeastDepth) {
  for (const std::vector<double>& acceptance :
       std::vector<std::vector<double>>{{0.5, 0.25, 0.125},
                                        {0.25, 0.5, 0.25},
                                        {0.25, 0.25, 0.25, 0.25},
                                        {1},
                                        {0, 1},
                                        {0, 0, 0.5, 0},
                                        {0}}) {
    ForAllLimits(acceptance, ExpectLargestValue);
    ForAllLimits(acceptance, ExpectSmallest);
    if (HasFatalFailure()) return;
  }
}

TEST(Sequoia, GivesFurtherTiesToTheMostChildrenAndTheEarlierOnes) {
  const absl::StatusOr<RatedShape> wide = BestTree({{0.5, 0.25}, 2, 0, 0});
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_THAT(wide->shape.parents, ElementsAre(-1, 0, 0));
  const absl::StatusOr<RatedShape> early = BestTree({{0.5, 0.25}, 4, 0, 0});
  ASSERT_TRUE(early.ok()) << early.status();
  EXPECT_THAT(early->shape.parents, ElementsAre(-1, 0, 1, 1, 0));
}

TEST(Sequoia, StopsWhereTheLimitsAdmitNoLargerTree) {
  const absl::StatusOr<RatedShape> tree = BestTree({{0.5, 0.3, 0.1}, 50, 2, 2});
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(tree->shape.parents, ElementsAre(-1, 0, 1, 1, 0, 4, 4));
}

TEST(Sequoia, TablesWithAndWithoutADepthLimitAgree) {
  constexpr int kNodes = 80;
  std::mt19937_64 bits(3);
  for (int i = 0; i < 10; ++i) {
    SequoiaTable table(RandomAcceptance(bits, /*sorted=*/false), kNodes);
    for (int depth = 1; depth < kNodes; ++depth) table.Deepen();
    table.AddUnlimited();
    for (int n = 1; n <= kNodes; ++n) {
      ASSERT_NEAR(table.Best(n, kNodes - 1),
                  table.Best(n, SequoiaTable::kUnlimited), kTolerance)
          << n << " nodes, vector " << i;
    }
  }
}

// With falling acceptances the largest products that fit are a tree, so the
// greedy construction is a reference for the dynamic programme.
TEST(Sequoia, EqualsTheGreedyTreeWhenAcceptancesFall) {
  std::mt19937_64 bits(4);
  for (const int depth : {3, 6, 400}) {
    const std::vector<double> p = RandomAcceptance(bits, /*sorted=*/true);
    const absl::StatusOr<RatedShape> best = BestTree({p, 400, depth, 0});
    const absl::StatusOr<RatedShape> greedy = GreedyTree(
        {std::vector<std::vector<double>>(static_cast<std::size_t>(depth), p),
         400});
    ASSERT_TRUE(best.ok() && greedy.ok());
    EXPECT_NEAR(best->expected_tokens, greedy->expected_tokens, kTolerance);
    EXPECT_NEAR(best->expected_tokens, ExpectedTokens(best->shape, p),
                kTolerance);
  }
}

TEST(SequoiaTable, HoldsAsManyEntriesAsItSays) {
  constexpr int kSizes = 1 << 20;  // 2^20 sizes and 2^6 rows: 2^26 entries
  EXPECT_TRUE(SequoiaTable::CheckSize(kSizes - 1, 62, 1).ok());
  EXPECT_FALSE(SequoiaTable::CheckSize(kSizes, 62, 1).ok());
  EXPECT_FALSE(SequoiaTable::CheckSize(kSizes - 1, 63, 1).ok());
  EXPECT_FALSE(SequoiaTable::CheckSize(kSizes - 1, 62, 2).ok());
}

TEST(SequoiaTableDeathTest, DiesOfALayerThatWasNotMade) {
  const SequoiaTable table({0.5}, 3);
  EXPECT_DEATH(table.Best(1, 1), "the layer was made");
  EXPECT_DEATH(table.Best(1, SequoiaTable::kUnlimited),
               "the unlimited layer was made");
}

TEST(SequoiaTableDeathTest, DiesOfATreeThatDoesNotFitItsDepth) {
  const SequoiaTable table({0.5}, 3);
  EXPECT_DEATH(table.Tree(3, 0), "there is a tree of this size and depth");
}

std::string SequoiaError(const SequoiaOptions& options) {
  return std::string(BestTree(options).status().message());
}

TEST(Sequoia, SaysWhatIsImpossible) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(SequoiaError({{}, 4, 0, 0}), HasSubstr("acceptance is empty"));
  EXPECT_THAT(SequoiaError({{0.5, nan}, 4, 0, 0}),
              HasSubstr("acceptance of rank 2 is nan"));
  EXPECT_THAT(SequoiaError({{0.9, 0.2}, 4, 0, 0}), HasSubstr("sums to 1.1"));
  EXPECT_THAT(SequoiaError({{0.5}, -1, 0, 0}), HasSubstr("nodes is -1"));
  EXPECT_THAT(SequoiaError({{0.5}, (1 << 16) + 1, 0, 0}),
              HasSubstr("nodes is 65537"));
  EXPECT_THAT(SequoiaError({{0.5}, 4, -2, 0}), HasSubstr("levels is -2"));
  EXPECT_THAT(SequoiaError({{0.5}, 4, 0, -3}), HasSubstr("width is -3"));
  const std::vector<double> many(100, 0.01);
  EXPECT_THAT(SequoiaError({many, 1 << 16, 100, 0}),
              HasSubstr("lower nodes, levels or width"));
  const std::vector<double> more(1030, 0.0005);  // one layer of them too
  EXPECT_THAT(SequoiaError({more, 1 << 16, 0, 0}),
              HasSubstr("lower nodes, levels or width"));
}

}  // namespace
}  // namespace banyan
