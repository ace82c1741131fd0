// Intervals: how wide, of what, and when there is none.
#include "experiments/metrics/bootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/random/seeded_source.h"
#include "experiments/metrics/metric.h"

namespace banyan {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The share of `accepted` in each of `prompts` prompts of 100 rounds, the noise
// uniform and of standard deviation 10 / sqrt(12) around it.
std::vector<Part> Noisy(std::uint32_t prompts, double accepted,
                        std::uint32_t draw) {
  const SeededSource source(3);
  std::vector<Part> parts;
  for (std::uint32_t i = 0; i < prompts; ++i) {
    const double noise =
        10 * (source.Uniform({.prompt = i, .draw = draw}) - 0.5);
    parts.push_back({.over = accepted + noise, .under = 100});
  }
  return parts;
}

TEST(Bootstrap, GivesAMeanItsTextbookInterval) {
  constexpr std::uint32_t kPrompts = 400;
  const std::vector<Part> parts = Noisy(kPrompts, 60, 0);
  Bootstrap bootstrap;
  const Estimate estimate = *bootstrap.Of(Form::kRatio, parts);
  double mean = 0;
  for (const Part& part : parts) mean += part.over / 100 / kPrompts;
  double square = 0;
  for (const Part& part : parts)
    square += std::pow(part.over / 100 - mean, 2) / kPrompts;
  const double error = std::sqrt(square / kPrompts);
  EXPECT_NEAR(estimate.value, mean, 1e-12);
  EXPECT_EQ(estimate.prompts, 400);
  // A 2.5th percentile of 2,000 numbers scatters by sqrt(0.025 0.975 / 2000) /
  // 0.0584 = 0.06 of their deviation; five times that is allowed.
  EXPECT_NEAR(estimate.interval->low, mean - 1.96 * error, 0.3 * error);
  EXPECT_NEAR(estimate.interval->high, mean + 1.96 * error, 0.3 * error);
}

TEST(Bootstrap, GivesTheSameIntervalEveryTime) {
  const std::vector<Part> parts = Noisy(30, 60, 0);
  Bootstrap one;
  Bootstrap other;
  static_cast<void>(other.Of(Form::kRatio, Noisy(17, 50, 1)));
  EXPECT_EQ(one.Of(Form::kRatio, parts)->interval->low,
            other.Of(Form::kRatio, parts)->interval->low);
}

// What is hard about a prompt is hard for both.
TEST(Bootstrap, PairsThePromptsOfADifference) {
  const std::vector<Part> a = Noisy(50, 60, 0);
  std::vector<Part> better = a;
  for (Part& part : better) part.over += 1;
  Bootstrap bootstrap;
  const Estimate paired = *bootstrap.Difference(Form::kRatio, better, a);
  EXPECT_NEAR(paired.value, 0.01, 1e-12);
  EXPECT_NEAR(paired.interval->low, 0.01, 1e-12);
  EXPECT_NEAR(paired.interval->high, 0.01, 1e-12);
  const Estimate apart =
      *bootstrap.Difference(Form::kRatio, Noisy(50, 61, 1), a);
  EXPECT_GT(apart.interval->high - apart.interval->low, 0.01);
}

TEST(Bootstrap, ResamplesBaselineAndMethodTogether) {
  std::vector<Part> parts;
  for (const double size : {1.0, 10.0, 100.0})
    parts.push_back({2 * size, size, size, size});
  Bootstrap bootstrap;
  const Estimate estimate = *bootstrap.Of(Form::kRelative, parts);
  EXPECT_NEAR(estimate.value, 2, 1e-12);
  EXPECT_NEAR(estimate.interval->low, 2, 1e-12);
  EXPECT_NEAR(estimate.interval->high, 2, 1e-12);
}

TEST(Bootstrap, HasNoIntervalForTotalsMaximaAndSinglePrompts) {
  const std::vector<Part> parts = {{3, 1}, {5, 1}};
  Bootstrap bootstrap;
  EXPECT_EQ(bootstrap.Of(Form::kTotal, parts)->value, 8);
  EXPECT_EQ(bootstrap.Of(Form::kLargest, parts)->value, 5);
  EXPECT_FALSE(bootstrap.Of(Form::kTotal, parts)->interval.has_value());
  EXPECT_FALSE(bootstrap.Of(Form::kLargest, parts)->interval.has_value());
  const std::vector<Part> one = {{3, 4}, {0, 0}};
  EXPECT_EQ(bootstrap.Of(Form::kRatio, one)->value, 0.75);
  EXPECT_EQ(bootstrap.Of(Form::kRatio, one)->prompts, 1);
  EXPECT_FALSE(bootstrap.Of(Form::kRatio, one)->interval.has_value());
}

TEST(Bootstrap, HasNoNumberWithoutDenominator) {
  Bootstrap bootstrap;
  EXPECT_EQ(bootstrap.Of(Form::kRatio, {}), std::nullopt);
  const std::vector<Part> none = {{1, 0}, {2, 0}};
  EXPECT_EQ(bootstrap.Of(Form::kRatio, none), std::nullopt);
  const std::vector<Part> no_baseline = {{1, 1, 0, 0}};
  EXPECT_EQ(bootstrap.Of(Form::kRelative, no_baseline), std::nullopt);
  const std::vector<Part> nan = {{kNaN, 1}, {1, 1}};
  EXPECT_EQ(bootstrap.Of(Form::kRatio, nan), std::nullopt);
  const std::vector<Part> nan_below = {{1, kNaN}, {1, 1}};
  EXPECT_EQ(bootstrap.Of(Form::kRatio, nan_below), std::nullopt);
  const std::vector<Part> good = {{1, 1}, {1, 1}};
  EXPECT_EQ(bootstrap.Difference(Form::kRatio, good, none), std::nullopt);
}

TEST(Bootstrap, KeepsInfinitiesInsteadOfHidingThem) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Part> parts = {{-infinity, 1}, {-1, 1}, {-1, 1}};
  Bootstrap bootstrap;
  const Estimate estimate = *bootstrap.Of(Form::kRatio, parts);
  EXPECT_EQ(estimate.value, -infinity);
  EXPECT_EQ(estimate.interval->low, -infinity);
  EXPECT_EQ(estimate.interval->high, -1);
}

}  // namespace
}  // namespace banyan
