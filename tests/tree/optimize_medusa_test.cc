#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tree/optimize_trees.h"
#include "tree/optimize/medusa.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;

constexpr double kTolerance = 1e-12;
// The root and eight drafted nodes: 2,056 trees.
constexpr int kSmall = 9;

double MedusaValue(const Shape& shape,
                   const std::vector<std::vector<double>>& accuracies) {
  double sum = 1;
  for (const std::vector<int>& path : ToPaths(shape)) {
    double product = 1;
    for (std::size_t head = 0; head < path.size(); ++head) {
      const auto rank = static_cast<std::size_t>(path[head]);
      const bool known =
          head < accuracies.size() && rank < accuracies[head].size();
      product *= known ? accuracies[head][rank] : 0;
    }
    sum += product;
  }
  return sum;
}

TEST(Medusa, EqualsBruteForceWhenAccuraciesFall) {
  const std::vector<Shape> trees = AllTrees(kSmall);
  std::mt19937_64 bits(5);
  for (int i = 0; i < 30; ++i) {
    MedusaOptions options;
    for (int head = 0; head < 1 + i % 4; ++head) {
      options.accuracies.push_back(RandomAcceptance(bits, /*sorted=*/true));
    }
    std::vector<double> best(kSmall, 1);  // by drafted nodes
    for (const Shape& tree : trees) {
      double& value = best[static_cast<std::size_t>(tree.size()) - 1];
      value = std::max(value, MedusaValue(tree, options.accuracies));
    }
    for (; options.nodes < kSmall; ++options.nodes) {
      const absl::StatusOr<RatedShape> greedy = GreedyTree(options);
      ASSERT_TRUE(greedy.ok()) << greedy.status();
      const auto end = best.begin() + options.nodes + 1;
      ASSERT_NEAR(greedy->expected_tokens, *std::max_element(best.begin(), end),
                  kTolerance)
          << "case " << i << ", budget " << options.nodes;
      ASSERT_NEAR(MedusaValue(greedy->shape, options.accuracies),
                  greedy->expected_tokens, kTolerance);
      ASSERT_LE(greedy->shape.size() - 1, options.nodes);
    }
  }
}

using Paths = std::vector<std::vector<int>>;

Paths GreedyPaths(const MedusaOptions& options) {
  const absl::StatusOr<RatedShape> tree = GreedyTree(options);
  return tree.ok() ? ToPaths(tree->shape) : Paths{{-1}};
}

TEST(Medusa, GivesTiesToTheShallowerThenTheEarlierPath) {
  EXPECT_EQ(GreedyPaths({{{0.5, 0.25}, {0.5}}, 2}), (Paths{{0}, {1}}));
  EXPECT_EQ(GreedyPaths({{{0.5, 0.5}, {0.5, 0.5}}, 4}),
            (Paths{{0}, {0, 0}, {0, 1}, {1}}));
}

TEST(Medusa, AddsPoorRanksBeforeTheBetterOnesBehindThem) {
  EXPECT_EQ(GreedyPaths({{{0.1, 0.8}, {0.5}}, 1}), (Paths{{0}}));
  EXPECT_EQ(GreedyPaths({{{0.1, 0.8}, {0.5}}, 3}), (Paths{{0}, {1}, {1, 0}}));
}

TEST(Medusa, StopsWhenNoRankIsLeft) {
  EXPECT_EQ(GreedyPaths({{{0.5, 0.3}, {0}}, 99}),
            (Paths{{0}, {0, 0}, {1}, {1, 0}}));
  EXPECT_EQ(GreedyPaths({{{}}, 99}), Paths{});
}

TEST(Medusa, SaysWhatIsImpossible) {
  const auto error = [](const MedusaOptions& options) {
    return std::string(GreedyTree(options).status().message());
  };
  EXPECT_THAT(error({{}, 3}), HasSubstr("accuracies is empty"));
  EXPECT_THAT(error({{{0.5}}, -1}), HasSubstr("nodes is -1"));
  EXPECT_THAT(error({{{0.5}}, 70000}), HasSubstr("nodes is 70000"));
  // As when shares of the first r guesses are given instead of the r-th alone.
  EXPECT_THAT(error({{{0.5}, {0.5, 0.7, 0.8}}, 3}),
              HasSubstr("accuracies of head 2 sums to 2"));
}

}  // namespace
}  // namespace banyan
