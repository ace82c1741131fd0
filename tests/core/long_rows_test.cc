// Rows longer than the lanes, runs and ranks that loops over them are cut into,
// held against loops that are not cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/draw_math.h"
#include "core/base/number_rows.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/residual.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "tests/core/laws.h"
#include "tests/core/not_finite.h"

namespace banyan {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

// Around the lanes (8) and the runs of Argmax (64) and DrawWith (256), and more
// than the second ranking of SamplingRule (512).
constexpr int kSizes[] = {1, 7, 8, 9, 63, 64, 65, 255, 256, 257, 1000};

// Multiples of 2^-10 up to 1, a third of them 0: their sums are exact.
std::vector<double> ExactWeights(LawDice& dice, int size) {
  std::vector<double> weights;
  for (int i = 0; i < size; ++i)
    weights.push_back(dice.Below(3) == 0 ? 0 : dice.Below(1025) / 1024.0);
  return weights;
}

TEST(CheckedSum, AddsEveryEntryOnce) {
  LawDice dice(1);
  for (int size : kSizes) {
    const std::vector<double> row = ExactWeights(dice, size);
    double sum = 0;
    for (double value : row) sum += value;
    EXPECT_EQ(CheckedSum(row), sum) << size;
  }
  EXPECT_EQ(CheckedSum({}), 0);
  EXPECT_EQ(CheckedSum({1, kInfinity}), kInfinity);
}

TEST(CheckedSumDeathTest, RefusesNegativeAndNaNWhereverTheyStand) {
  for (double bad : {-1e-300, -kInfinity, kNaN}) {
    for (int at : {0, 5, 15, 16, 18}) {
      std::vector<double> row(19, 1.0);
      row[static_cast<std::size_t>(at)] = bad;
      EXPECT_DEATH(CheckedSum(row), "check failed") << bad << " at " << at;
    }
  }
}

// One by one: the first index whose running sum exceeds u times the total.
int DrawOneByOne(double u, std::vector<double> weights,
                 const std::vector<int>& left_out) {
  for (int index : left_out) weights[static_cast<std::size_t>(index)] = 0;
  double total = 0;
  for (double weight : weights) total += weight;
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (sum > u * total) return static_cast<int>(i);
  }
  return -1;
}

TEST(DrawWith, FindsTheSameIndexInALongRowAsOneByOne) {
  LawDice dice(2);
  for (int size : kSizes) {
    for (int gaps : {0, 1, 20}) {
      std::vector<double> weights = ExactWeights(dice, size);
      std::vector<int> left_out;  // in no order, perhaps repeated
      for (int i = 0; i < gaps; ++i) left_out.push_back(dice.Below(size));
      if (DrawOneByOne(0, weights, left_out) < 0) continue;
      for (int i = 0; i < 500; ++i) {
        const double u = i == 0 ? 0 : dice.Uniform();
        ASSERT_EQ(DrawWith(u, {weights, left_out}),
                  DrawOneByOne(u, weights, left_out))
            << "size " << size << ", left out " << gaps << ", u " << u;
      }
    }
  }
}

TEST(Argmax, OfALongRowIsTheFirstOfTheLargestLeft) {
  LawDice dice(3);
  for (int size : kSizes) {
    std::vector<double> masses;  // few values: many ties
    for (int i = 0; i < size; ++i) masses.push_back(1 + dice.Below(20));
    Distribution law = Distribution::Dense(masses);
    for (int i = 0; i < std::min(size, 100); ++i) {
      const auto largest = std::max_element(masses.begin(), masses.end());
      const auto token = static_cast<TokenId>(largest - masses.begin());
      ASSERT_EQ(law.Argmax(), token) << "size " << size << ", draw " << i;
      law = law.Without(token);
      *largest = 0;
    }
  }
}

TEST(Residual, OfALongRowIsWhatTheFormulaSays) {
  constexpr double kRounding = 1e-14;  // of sums of 1000 masses
  LawDice dice(4);
  for (int size : kSizes) {
    std::vector<double> cur = RandomMasses(dice, size, 1);
    Residual residual(Distribution::Dense(cur));
    for (int draw = 0; draw < 3; ++draw) {
      const std::vector<double> q = RandomMasses(dice, size, 0.5);
      double excess = 0;
      for (std::size_t i = 0; i < q.size(); ++i) {
        cur[i] = std::max(cur[i] - q[i], 0.0);
        excess += cur[i];
      }
      EXPECT_NEAR(residual.Subtract(Distribution::Dense(q)), excess, kRounding);
      for (double& mass : cur) mass /= excess;
      std::vector<double> found;
      for (int token = 0; token < size; ++token)
        found.push_back(residual.Mass(token));
      EXPECT_THAT(found, Pointwise(DoubleNear(kRounding), cur)) << size;
    }
  }
}

// The truncations that keep a stated number of 1000 tokens, of which none is as
// likely as another.
TEST(SamplingRule, RanksAsFarIntoALongRowAsItKeeps) {
  constexpr int kSize = 1000;
  std::vector<double> logits;
  for (int token = 0; token < kSize; ++token)  // 37 is prime to 1000
    logits.push_back(-0.01 * (token * 37 % kSize));
  const auto kept = [&](const SamplingOptions& options) {
    const auto law = SamplingRule(options).Apply(logits, {}, {});
    return law.ok() ? static_cast<int>(law->masses().size()) : -1;
  };
  const double ratio = std::exp(-0.01);
  const double total = 1 - std::pow(ratio, kSize);
  for (int count : {1, 63, 64, 65, 511, 512, 513, 999}) {
    // Half a rank past the one before: rounding does not matter.
    const double top_p = (1 - std::pow(ratio, count - 0.5)) / total;
    const double min_p = std::pow(ratio, count - 0.5);
    EXPECT_EQ(kept({.top_k = count}), count);
    EXPECT_EQ(kept({.top_p = top_p}), count);
    EXPECT_EQ(kept({.min_p = min_p}), count);
  }
  EXPECT_EQ(kept({.top_k = kSize}), kSize);
}

// ---- core/base/draw_math.h

TEST(ExpOfNegative, IsWithinTwoUnitsOfTheLastPlace) {
  const SeededSource random(3);
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const double x = -760 * std::pow(random.Uniform({.node = i}), 4);
    const double expected = std::exp(x);
    const double unit = std::nextafter(expected, 1.0) - expected;
    EXPECT_NEAR(ExpOfNegative(x), expected, 2 * unit) << x;
  }
  EXPECT_EQ(ExpOfNegative(0), 1);
  EXPECT_EQ(ExpOfNegative(-0x1p-60), 1);
  EXPECT_GT(ExpOfNegative(-744), 0);
  EXPECT_EQ(ExpOfNegative(-1000), 0);
  EXPECT_EQ(ExpOfNegative(-kInfinity), 0);
}

// The entries of a distribution over 1000 tokens, as a row and as a list.
TEST(Laws, AreTheSameToTheLastBitHoweverTheyAreStored) {
  constexpr int kVocabulary = 1000;
  const SeededSource random(11);
  const auto make = [&](std::uint32_t number, bool dense) {
    std::vector<double> row(kVocabulary);
    std::vector<TokenId> tokens;
    std::vector<double> masses;
    for (std::uint32_t i = 0; i < kVocabulary; ++i) {
      if (random.Uniform({.round = number, .node = i}) < 0.9) continue;
      tokens.push_back(static_cast<TokenId>(i));
      masses.push_back(random.Uniform({.round = number, .node = i, .draw = 1}) /
                       50);
      row[i] = masses.back();
    }
    return dense ? Distribution::Dense(std::move(row))
                 : Distribution::Sparse(kVocabulary, tokens, masses);
  };
  for (std::uint32_t number = 0; number < 50; ++number) {
    const Distribution whole = make(number, true);
    const Distribution entries = make(number, false);
    ASSERT_EQ(whole.total(), entries.total());
    const TokenId most = whole.Argmax();
    EXPECT_EQ(whole.Without(most).total(), entries.Without(most).total());
    for (std::uint32_t draw = 0; draw < 20; ++draw) {
      const double u =
          random.Uniform({.round = number, .node = draw, .trunk = 1});
      for (const auto& [a, b] :
           {std::pair(whole, entries),
            std::pair(whole.Without(most), entries.Without(most))})
        ASSERT_EQ(a.TokenAt(DrawWith(u, a.weights())),
                  b.TokenAt(DrawWith(u, b.weights())));
    }
    // Where entries stand in place of rows, nothing is left but them.
    Residual left(entries);
    Residual same(entries);
    const Distribution other = make(number + 1000, true);
    EXPECT_EQ(left.Subtract(other), same.Subtract(make(number + 1000, false)));
    for (TokenId token = 0; token < kVocabulary; ++token)
      ASSERT_EQ(left.Mass(token), same.Mass(token));
  }
}

}  // namespace
}  // namespace banyan
