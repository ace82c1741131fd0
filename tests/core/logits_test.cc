#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/sampling_rule.h"
#include "gtest/gtest.h"
#include "tests/core/not_finite.h"

namespace banyan {
namespace {

using Pairs = std::vector<std::pair<TokenId, double>>;

Pairs Best(const std::vector<double>& logits, int k) {
  const absl::StatusOr<std::vector<TokenLogit>> best = BestLogits(logits, k);
  EXPECT_TRUE(best.ok()) << best.status();
  Pairs pairs;
  for (const TokenLogit& each : *best)
    pairs.emplace_back(each.token, each.logit);
  return pairs;
}

TEST(BestLogits, AreTheLargestInOrderAndTheLowerTokenOnATie) {
  const std::vector<double> logits = {-1, 2, -kInfinity, 2, 0.5, -7};
  EXPECT_EQ(Best(logits, 1), Pairs({{1, 2}}));
  EXPECT_EQ(Best(logits, 3), Pairs({{1, 2}, {3, 2}, {4, 0.5}}));
}

TEST(BestLogits, LeaveOutWhatCannotBeDrawn) {
  const std::vector<double> logits = {-1, -kInfinity, 3};
  EXPECT_EQ(Best(logits, 3), Pairs({{2, 3}, {0, -1}}));
  EXPECT_EQ(Best(logits, 99), Pairs({{2, 3}, {0, -1}}));
  EXPECT_EQ(Best({-kInfinity}, 1), Pairs());
}

TEST(BestLogits, RefuseWhatIsNoLogit) {
  for (double bad : {kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    const absl::Status status = BestLogits({0, 1, bad}, 1).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("token 2"), status.message().npos)
        << status;
  }
}

TEST(LogSumExp, NeitherOverflowsNorInventsMass) {
  EXPECT_DOUBLE_EQ(LogSumExp({1000, 1000}), 1000 + std::log(2));
  EXPECT_DOUBLE_EQ(LogSumExp({-kInfinity, -2000}), -2000);
  EXPECT_EQ(LogSumExp({-kInfinity, -kInfinity}), -kInfinity);
}

}  // namespace
}  // namespace banyan
