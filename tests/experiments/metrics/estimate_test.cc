// Intervals: how wide, of what, how often they are wrong, and when there is
// none.
#include "experiments/metrics/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/random/random_source.h"
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

TEST(Estimates, GiveAMeanItsTextbookInterval) {
  const std::vector<Part> parts = Noisy(8, 60, 0);
  const Estimate estimate = *EstimateOf(Form::kRatio, parts);
  double mean = 0;
  for (const Part& part : parts) mean += part.over / 100 / 8;
  double square = 0;
  for (const Part& part : parts) square += std::pow(part.over / 100 - mean, 2);
  const double error = std::sqrt(square / 7 / 8);
  EXPECT_NEAR(estimate.value, mean, 1e-12);
  EXPECT_EQ(estimate.prompts, 8);
  EXPECT_NEAR(estimate.interval->low, mean - 2.364624 * error, 1e-6);
  EXPECT_NEAR(estimate.interval->high, mean + 2.364624 * error, 1e-6);
}

// What is hard about a prompt is hard for both.
TEST(Estimates, PairThePromptsOfADifference) {
  const std::vector<Part> a = Noisy(50, 60, 0);
  std::vector<Part> better = a;
  for (Part& part : better) part.over += 1;
  const Estimate paired = *EstimateDifference(Form::kRatio, better, a);
  EXPECT_NEAR(paired.value, 0.01, 1e-12);
  EXPECT_NEAR(paired.interval->low, 0.01, 1e-12);
  EXPECT_NEAR(paired.interval->high, 0.01, 1e-12);
  EXPECT_LT(*paired.p, 1e-9);
  const Estimate apart = *EstimateDifference(Form::kRatio, Noisy(50, 61, 1), a);
  EXPECT_GT(apart.interval->high - apart.interval->low, 0.01);
  EXPECT_EQ(EstimateDifference(Form::kRatio, a, a)->p, 1);
}

TEST(Estimates, LeaveBaselineAndMethodOutTogether) {
  std::vector<Part> parts;
  for (const double size : {1.0, 10.0, 100.0})
    parts.push_back({2 * size, size, size, size});
  const Estimate estimate = *EstimateOf(Form::kRelative, parts);
  EXPECT_NEAR(estimate.value, 2, 1e-12);
  EXPECT_NEAR(estimate.interval->low, 2, 1e-12);
  EXPECT_NEAR(estimate.interval->high, 2, 1e-12);
}

// Twice as fast and half as fast are as far from 1 as each other.
TEST(Estimates, GiveASpeedupAnIntervalOfFactors) {
  std::vector<Part> parts;
  std::vector<Part> inverse;
  for (const double factor : {1.5, 2.0, 2.6}) {
    parts.push_back({10, 10 / factor, 10, 10});
    inverse.push_back({10, 10, 10, 10 / factor});
  }
  const Estimate one = *EstimateOf(Form::kRelative, parts);
  const Estimate other = *EstimateOf(Form::kRelative, inverse);
  EXPECT_NEAR(one.value * other.value, 1, 1e-12);
  EXPECT_NEAR(one.interval->low * other.interval->high, 1, 1e-9);
  EXPECT_NEAR(one.interval->high * other.interval->low, 1, 1e-9);
  EXPECT_GT(one.interval->low, 0);
}

// A prompt that outweighs the others leaves little to judge its number by.
TEST(Estimates, AreWideWhereOnePromptOutweighsTheOthers) {
  std::vector<Part> even;
  std::vector<Part> uneven;
  for (int i = 0; i < 8; ++i) {
    const double value = i % 2 == 0 ? 0.4 : 0.6;
    const double weight = i == 0 ? 100 : 1;
    even.push_back({value, 1});
    uneven.push_back({weight * value, weight});
  }
  const auto width = [](const std::vector<Part>& parts) {
    const Interval interval = *EstimateOf(Form::kRatio, parts)->interval;
    return interval.high - interval.low;
  };
  EXPECT_GT(width(uneven), 3 * width(even));
}

TEST(Estimates, HaveNoIntervalForTotalsMaximaAndSinglePrompts) {
  const std::vector<Part> parts = {{3, 1}, {5, 1}};
  EXPECT_EQ(EstimateOf(Form::kTotal, parts)->value, 8);
  EXPECT_EQ(EstimateOf(Form::kLargest, parts)->value, 5);
  EXPECT_FALSE(EstimateOf(Form::kTotal, parts)->interval.has_value());
  EXPECT_FALSE(EstimateOf(Form::kLargest, parts)->interval.has_value());
  const std::vector<Part> one = {{3, 4}, {0, 0}};
  EXPECT_EQ(EstimateOf(Form::kRatio, one)->value, 0.75);
  EXPECT_EQ(EstimateOf(Form::kRatio, one)->prompts, 1);
  EXPECT_FALSE(EstimateOf(Form::kRatio, one)->interval.has_value());
}

TEST(Estimates, HaveNoNumberWithoutDenominator) {
  EXPECT_FALSE(EstimateOf(Form::kRatio, {}).has_value());
  const std::vector<Part> none = {{1, 0}, {2, 0}};
  EXPECT_FALSE(EstimateOf(Form::kRatio, none).has_value());
  const std::vector<Part> no_baseline = {{1, 1, 0, 0}};
  EXPECT_FALSE(EstimateOf(Form::kRelative, no_baseline).has_value());
  const std::vector<Part> nan = {{kNaN, 1}, {1, 1}};
  EXPECT_FALSE(EstimateOf(Form::kRatio, nan).has_value());
  const std::vector<Part> nan_below = {{1, kNaN}, {1, 1}};
  EXPECT_FALSE(EstimateOf(Form::kRatio, nan_below).has_value());
  const std::vector<Part> good = {{1, 1}, {1, 1}};
  EXPECT_FALSE(EstimateDifference(Form::kRatio, good, none).has_value());
}

TEST(Estimates, KeepInfinitiesInsteadOfHidingThem) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Part> parts = {{-infinity, 1}, {-1, 1}, {-1, 1}};
  const Estimate estimate = *EstimateOf(Form::kRatio, parts);
  EXPECT_EQ(estimate.value, -infinity);
  EXPECT_FALSE(estimate.interval.has_value());
}

// One run of two cells that are the same: prompts of unequal length and
// hardness, and what the machine adds to each cell's time by itself.
struct Noise {
  std::string name;
  std::function<double(double uniform, double other)> factor;
};

// The share of runs in which the difference's interval leaves 0 out.
double FalseAlarms(const Noise& noise, std::uint32_t prompts) {
  constexpr std::uint32_t kRuns = 4000;
  const SeededSource source(11 + prompts);
  const auto normal = [](double u, double v) {
    return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * M_PI * v);
  };
  int alarms = 0;
  for (std::uint32_t run = 0; run < kRuns; ++run) {
    std::vector<Part> sides[2];
    for (std::uint32_t i = 0; i < prompts; ++i) {
      const auto uniform = [&](std::uint32_t draw) {
        return source.Uniform({.prompt = i, .round = run, .draw = draw});
      };
      const double tokens = 60 * std::exp(0.6 * normal(uniform(0), uniform(1)));
      const double ns = tokens * std::exp(0.4 * normal(uniform(2), uniform(3)));
      for (const std::uint32_t side : {0, 1})
        sides[side].push_back(
            {tokens,
             ns * noise.factor(uniform(4 + 2 * side), uniform(5 + 2 * side)),
             tokens, ns});
    }
    const Estimate difference =
        *EstimateDifference(Form::kRelative, sides[0], sides[1]);
    const bool alarm =
        difference.interval->low > 0 || difference.interval->high < 0;
    EXPECT_EQ(alarm, *difference.p < 0.05);
    alarms += alarm ? 1 : 0;
  }
  return static_cast<double>(alarms) / kRuns;
}

TEST(Estimates, SeeADifferenceOfNothingInAtMostSixPercentOfRuns) {
  const std::vector<Noise> noises = {
      {"even",
       [](double u, double v) {
         return std::exp(0.05 * std::sqrt(-2 * std::log(1 - u)) *
                         std::cos(2 * M_PI * v));
       }},
      {"skewed",
       [](double u, double v) { return 1 - 0.1 * std::log(1 - u) * v; }},
      {"tokens per pass differ by half",
       [](double u, double v) {
         return std::exp(0.4 * std::sqrt(-2 * std::log(1 - u)) *
                         std::cos(2 * M_PI * v));
       }},
      {"spikes", [](double u, double v) {
         return 1 + 0.06 * v - (u < 0.9 ? 0 : std::log(10 * (1 - u)));
       }}};
  for (const Noise& noise : noises) {
    double most = 0;
    for (const std::uint32_t prompts : {6, 8, 12, 16, 30, 100}) {
      const double alarms = FalseAlarms(noise, prompts);
      EXPECT_LE(alarms, 0.06) << noise.name << ", " << prompts << " prompts";
      most = std::max(most, alarms);
    }
    EXPECT_GT(most, 0.02) << noise.name << ": an interval that is never wrong";
  }
}

TEST(Estimates, TellHowManyPromptsWouldShowADifference) {
  // Of a standard deviation of a tenth: 0.04 wants (1.96 + 0.84)^2 6.25 = 49 of
  // a test of its mean, and half as many again of signs. Of its error of 0.0224
  // 0.842 is taken off first.
  std::vector<Part> a;
  std::vector<Part> b;
  for (int i = 0; i < 20; ++i) {
    a.push_back({1.04 + (i % 2 == 0 ? 0.0975 : -0.0975), 1});
    b.push_back({1, 1});
  }
  const Estimate difference = *EstimateDifference(Form::kRatio, a, b);
  EXPECT_GT(*difference.p, 0.05);
  const double off = 0.04 / (0.04 - 0.0224 * 0.842);
  EXPECT_NEAR(*PromptsToSee(difference, 0.05), 1.5708 * 49 * off * off, 8);
  EXPECT_GT(*PromptsToSee(difference, 0.0005),
            1.1 * *PromptsToSee(difference, 0.05));
  for (Part& part : a) part.over -= 0.03;
  EXPECT_FALSE(
      PromptsToSee(*EstimateDifference(Form::kRatio, a, b), 0.05).has_value());
  EXPECT_FALSE(
      PromptsToSee(*EstimateDifference(Form::kRatio, a, a), 0.05).has_value());
}

TEST(Estimates, HolmCorrectsEachForAllThatAreLarger) {
  EXPECT_THAT(HolmAdjusted({}), testing::IsEmpty());
  // The textbook's example: 0.005, 0.01, 0.03, 0.04 of four.
  const std::vector<double> p = {0.01, 0.04, 0.03, 0.005};
  const std::vector<double> adjusted = HolmAdjusted(p);
  const double expected[] = {0.03, 0.06, 0.06, 0.02};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12);
  EXPECT_EQ(HolmAdjusted(std::vector<double>{0.9, 0.8}),
            (std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace banyan
