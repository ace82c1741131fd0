#include "core/random/enumerating_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/random/random_source.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::Pair;

ChoiceKey KeyOf(std::uint32_t node, std::uint32_t draw = 0) {
  return {.node = node, .draw = draw};
}

struct Enumerated {
  std::map<std::string, double> law;
  double total = 0;
};

template <typename Run>
Enumerated Enumerate(EnumeratingSource& source, Run run) {
  Enumerated out;
  do {
    const std::string outcome = run(source);
    out.law[outcome] += source.probability();
    out.total += source.probability();
  } while (source.Advance());
  return out;
}

// The sums below have at most 24 terms of at most 1, each with a few roundings.
constexpr double kExact = 1e-15;

TEST(EnumeratingSource, MakesOneRunOfAFunctionWithoutChoices) {
  EnumeratingSource source(1);
  const Enumerated all =
      Enumerate(source, [](RandomSource&) { return std::string("only"); });
  EXPECT_THAT(all.law, ElementsAre(Pair("only", 1.0)));
  EXPECT_EQ(source.runs(), 1);
  EXPECT_FALSE(source.exhausted());
}

TEST(EnumeratingSource, SkipsWhatHasNoWeightOrIsLeftOut) {
  EnumeratingSource source(100);
  const std::vector<double> weights = {0, 1, 0, 2, 7, 5};
  const std::vector<int> left_out = {4};
  const Enumerated all = Enumerate(source, [&](RandomSource& chance) {
    return std::to_string(chance.Draw({weights, left_out}, {}));
  });
  EXPECT_EQ(source.runs(), 3);
  EXPECT_EQ(all.law.size(), 3u);
  EXPECT_NEAR(all.law.at("1"), 1 / 8.0, kExact);
  EXPECT_NEAR(all.law.at("3"), 2 / 8.0, kExact);
  EXPECT_NEAR(all.law.at("5"), 5 / 8.0, kExact);
  EXPECT_NEAR(all.total, 1, kExact);
  EXPECT_FALSE(source.exhausted());
}

// A coin that decides how much is chosen after it: nothing, or two draws.
TEST(EnumeratingSource, FollowsAChoiceThatDecidesHowManyFollow) {
  EnumeratingSource source(100);
  const std::vector<double> weights = {1, 3};
  const Enumerated all = Enumerate(source, [&](RandomSource& chance) {
    if (!chance.Accept(0.25, KeyOf(0))) return std::string("-");
    std::string outcome = std::to_string(chance.Draw({weights}, KeyOf(1)));
    return outcome + std::to_string(chance.Draw({weights}, KeyOf(2)));
  });
  EXPECT_EQ(source.runs(), 5);
  EXPECT_EQ(all.law.size(), 5u);
  EXPECT_NEAR(all.law.at("-"), 0.75, kExact);
  EXPECT_NEAR(all.law.at("00"), 0.25 * 1 / 16, kExact);
  EXPECT_NEAR(all.law.at("01"), 0.25 * 3 / 16, kExact);
  EXPECT_NEAR(all.law.at("11"), 0.25 * 9 / 16, kExact);
  EXPECT_NEAR(all.total, 1, kExact);
}

// The number of tosses until the first success, at most ten.
TEST(EnumeratingSource, KnowsTheGeometricLaw) {
  EnumeratingSource source(100);
  const Enumerated all = Enumerate(source, [](RandomSource& chance) {
    std::uint32_t tosses = 0;
    while (tosses < 10 && !chance.Accept(0.3, KeyOf(tosses))) ++tosses;
    return std::to_string(tosses);
  });
  EXPECT_EQ(source.runs(), 11);
  for (int k = 0; k < 10; ++k)
    EXPECT_NEAR(all.law.at(std::to_string(k)), 0.3 * std::pow(0.7, k), kExact);
  EXPECT_NEAR(all.law.at("10"), std::pow(0.7, 10), kExact);
  EXPECT_NEAR(all.total, 1, kExact);
}

TEST(EnumeratingSource, VisitsEveryOrderOfDrawsWithoutReplacement) {
  EnumeratingSource source(100);
  const std::vector<double> weights = {1, 2, 3, 10};
  const Enumerated all = Enumerate(source, [&](RandomSource& chance) {
    std::vector<int> drawn;
    std::string order;
    for (std::uint32_t i = 0; i < 4; ++i) {
      drawn.push_back(chance.Draw({weights, drawn}, KeyOf(0, i)));
      order += std::to_string(drawn.back());
    }
    return order;
  });
  EXPECT_EQ(source.runs(), 24);
  EXPECT_EQ(all.law.size(), 24u);
  EXPECT_NEAR(all.law.at("0123"), 1 / 16.0 * 2 / 15 * 3 / 13, kExact);
  EXPECT_NEAR(all.law.at("3210"), 10 / 16.0 * 3 / 6 * 2 / 3, kExact);
  EXPECT_NEAR(all.total, 1, kExact);
}

std::string ThreeCoins(RandomSource& chance) {
  std::string faces;
  for (std::uint32_t i = 0; i < 3; ++i)
    faces += chance.Accept(0.5, KeyOf(i)) ? '1' : '0';
  return faces;
}

TEST(EnumeratingSource, SaysWhenTheLimitCameFirst) {
  EnumeratingSource source(7);
  const Enumerated all = Enumerate(source, ThreeCoins);
  EXPECT_TRUE(source.exhausted());
  EXPECT_EQ(source.runs(), 7);
  EXPECT_EQ(all.law.size(), 7u);
  EXPECT_EQ(all.total, 7 / 8.0);
}

TEST(EnumeratingSource, IsNotExhaustedByALimitThatJustSuffices) {
  EnumeratingSource source(8);
  const Enumerated all = Enumerate(source, ThreeCoins);
  EXPECT_FALSE(source.exhausted());
  EXPECT_EQ(source.runs(), 8);
  EXPECT_EQ(all.law.size(), 8u);
  EXPECT_EQ(all.total, 1);
}

TEST(EnumeratingSourceDeathTest, DiesOfAKeyUsedTwiceInOneRun) {
  EnumeratingSource source(100);
  source.Accept(0.5, KeyOf(1));
  source.Accept(0.5, {.node = 1, .purpose = Purpose::kCoin});
  const std::vector<double> weights = {1, 1};
  EXPECT_DEATH(source.Draw({weights}, KeyOf(1)), "check failed: .*key");
}

TEST(EnumeratingSourceDeathTest, DiesOfARunThatDependsOnMoreThanItsChoices) {
  EnumeratingSource source(100);
  const std::vector<double> weights = {1, 1, 2}, others = {1, 2, 1};
  source.Draw({weights}, KeyOf(1));
  source.Accept(0.5, KeyOf(2));
  ASSERT_TRUE(source.Advance());
  EXPECT_DEATH(source.Draw({others}, KeyOf(1)), "check failed: .*choices");
  EXPECT_DEATH(source.Accept(0.5, KeyOf(1)), "check failed: .*choices");
  EXPECT_DEATH(source.Advance(), "check failed: .*choices");
  EXPECT_EQ(source.Draw({weights}, KeyOf(1)), 0);
}

TEST(EnumeratingSource, MayUseAKeyAgainInTheNextRun) {
  EnumeratingSource source(100);
  source.Accept(0.5, KeyOf(1));
  ASSERT_TRUE(source.Advance());
  source.Accept(0.5, KeyOf(1));
  EXPECT_FALSE(source.Advance());
}

TEST(EnumeratingSource, AllowsARepeatedKeyWhereToldTo) {
  EnumeratingSource source(100, EnumeratingSource::Keys::kMayRepeat);
  const Enumerated all = Enumerate(source, [](RandomSource& chance) {
    std::string faces;
    for (int i = 0; i < 2; ++i) faces += chance.Accept(0.5, {}) ? '1' : '0';
    return faces;
  });
  EXPECT_EQ(all.law.size(), 4u);
}

}  // namespace
}  // namespace banyan
