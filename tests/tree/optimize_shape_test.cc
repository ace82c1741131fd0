#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tree/optimize_trees.h"
#include "tree/optimize/shape.h"

namespace banyan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Paths = std::vector<std::vector<int>>;

std::string PathError(Paths paths) {
  const absl::StatusOr<Shape> shape = Shape::FromPaths(std::move(paths));
  return std::string(shape.status().message());
}

TEST(Shape, RoundTripsThroughShuffledPaths) {
  std::mt19937_64 bits(1);
  for (const Shape& shape : AllTrees(8)) {
    Paths paths = ToPaths(shape);
    std::shuffle(paths.begin(), paths.end(), bits);
    const absl::StatusOr<Shape> again = Shape::FromPaths(paths);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->parents, shape.parents);
  }
}

TEST(Shape, ReadsPathsAsMedusaPublishesThem) {
  const absl::StatusOr<Shape> shape =
      Shape::FromPaths({{0}, {0, 0}, {1}, {0, 1}, {2}, {0, 0, 0}, {1, 0}});
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_THAT(shape->parents, ElementsAre(-1, 0, 1, 2, 1, 0, 5, 0));
  EXPECT_THAT(Depths(*shape), ElementsAre(0, 1, 2, 3, 2, 1, 2, 1));
  EXPECT_THAT(Ranks(*shape), ElementsAre(0, 1, 1, 1, 2, 2, 1, 3));
  EXPECT_THAT(Children(*shape)[0], ElementsAre(1, 5, 7));
  EXPECT_EQ(Height(*shape), 3);
}

TEST(Shape, NamesThePathThatIsWrong) {
  EXPECT_EQ(PathError({{0}, {1, 0}}),
            "path [1, 0] has no parent: [1] is missing");
  EXPECT_EQ(PathError({{0}, {0, 0, 0}}),
            "path [0, 0, 0] has no parent: [0, 0] is missing");
  EXPECT_EQ(PathError({{0}, {2}, {0, 0}}),
            "path [2] skips a rank: [1] is missing");
  EXPECT_EQ(PathError({{0}, {0, 1}}),
            "path [0, 1] skips a rank: [0, 0] is missing");
  EXPECT_EQ(PathError({{0}, {1}, {0}}), "path [0] is given twice");
  EXPECT_EQ(PathError({{0}, {0, -1}}), "path [0, -1] has the negative rank -1");
  EXPECT_EQ(PathError({{0}, {}}), "path [] is the root, which is implied");
}

TEST(Shape, OfNoPathsIsABareRoot) {
  const absl::StatusOr<Shape> shape = Shape::FromPaths({});
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_THAT(shape->parents, ElementsAre(-1));
  EXPECT_EQ(Height(*shape), 0);
}

TEST(Shape, ChainHasOneNodeALevel) {
  EXPECT_THAT(Shape::Chain(0).parents, ElementsAre(-1));
  EXPECT_THAT(Shape::Chain(3).parents, ElementsAre(-1, 0, 1, 2));
}

TEST(Shape, FromParentsPutsLevelsInDepthFirstOrder) {
  EXPECT_THAT(Shape::FromParents({-1, 0, 0, 1, 2, 1}).parents,
              ElementsAre(-1, 0, 1, 1, 0, 4));
  for (const Shape& shape : AllTrees(6)) {
    EXPECT_EQ(Shape::FromParents(shape.parents).parents, shape.parents);
  }
}

TEST(Shape, FromBranchingGivesEveryNodeOfALevelItsChildren) {
  const absl::StatusOr<Shape> shape = Shape::FromBranching({2, 1, 2});
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_THAT(shape->parents, ElementsAre(-1, 0, 1, 2, 2, 0, 5, 6, 6));
  EXPECT_EQ(Shape::FromBranching({})->size(), 1);
  EXPECT_EQ(Shape::FromBranching({Shape::kMaxNodes - 1})->size(),
            Shape::kMaxNodes);
}

TEST(Shape, FromBranchingRefusesWhatWouldNotFit) {
  constexpr int kHuge = std::numeric_limits<int>::max();
  for (const std::vector<int>& branching :
       {std::vector<int>{Shape::kMaxNodes}, {1024, 1024}, {kHuge, kHuge}}) {
    const absl::StatusOr<Shape> shape = Shape::FromBranching(branching);
    EXPECT_THAT(std::string(shape.status().message()),
                HasSubstr("more than 1048576 nodes"));
  }
  const absl::StatusOr<Shape> none = Shape::FromBranching({2, 0});
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("[2, 0]: 0 children a node"));
}

TEST(Shape, ExpectedTokensOfAChainAreAGeometricSum) {
  EXPECT_DOUBLE_EQ(ExpectedTokens(Shape::Chain(3), {0.5}), 1.875);
  EXPECT_DOUBLE_EQ(ExpectedTokens(Shape::Chain(0), {}), 1);
}

TEST(Shape, ExpectedTokensMultiplyTheRanksAlongAPath) {
  const absl::StatusOr<Shape> shape =
      Shape::FromPaths({{0}, {0, 0}, {0, 1}, {1}, {1, 0}, {2}});
  ASSERT_TRUE(shape.ok()) << shape.status();
  // Rank 3 has no entry, hence no acceptance.
  EXPECT_THAT(PathProbabilities(*shape, {0.5, 0.25}),
              ElementsAre(1, 0.5, 0.25, 0.125, 0.25, 0.125, 0));
  EXPECT_DOUBLE_EQ(ExpectedTokens(*shape, {0.5, 0.25}), 2.25);
}

TEST(Shape, AcceptanceMustBeProbabilitiesOfExclusiveEvents) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(CheckAcceptance({0.5, 0, 0.5 + 5e-10}, "p").ok());
  EXPECT_EQ(CheckAcceptance({0.5, -0.1}, "p").message(),
            "p of rank 2 is -0.1; expected a probability");
  EXPECT_FALSE(CheckAcceptance({nan}, "p").ok());
  EXPECT_FALSE(CheckAcceptance({1.1}, "p").ok());
  EXPECT_THAT(std::string(CheckAcceptance({0.6, 0.6}, "p").message()),
              HasSubstr("p sums to 1.2"));
  EXPECT_FALSE(CheckAcceptance({0.5, 0.5 + 2e-9}, "p").ok());
}

}  // namespace
}  // namespace banyan
