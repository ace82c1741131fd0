#include "core/prob/sampling_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "tests/core/laws.h"
#include "tests/core/not_finite.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Tokens = std::vector<TokenId>;

// Returns the distribution, or fails the test.
Distribution Law(const SamplingOptions& options,
                 const std::vector<double>& logits, const Tokens& history = {},
                 const Tokens& path = {}) {
  absl::StatusOr<Distribution> law =
      SamplingRule(options).Apply(logits, history, path);
  EXPECT_TRUE(law.ok()) << law.status();
  return law.ok() ? *law : Distribution();
}

std::vector<double> Masses(const SamplingOptions& options,
                           const std::vector<double>& logits,
                           const Tokens& history = {},
                           const Tokens& path = {}) {
  return MassesOf(Law(options, logits, history, path));
}

std::string Refusal(const SamplingOptions& options,
                    const std::vector<double>& logits) {
  const auto law = SamplingRule(options).Apply(logits, {}, {});
  EXPECT_TRUE(absl::IsInvalidArgument(law.status())) << law.status();
  return std::string(law.status().message());
}

// Logits whose softmax is `masses`.
std::vector<double> LogitsOf(const std::vector<double>& masses) {
  std::vector<double> logits;
  for (double mass : masses) logits.push_back(std::log(mass));
  return logits;
}

// The tokens of positive mass.
Tokens Support(const Distribution& law) {
  Tokens tokens;
  law.ForEach([&](TokenId token, double) { tokens.push_back(token); });
  return tokens;
}

// ---- The rule written out on plain vectors

using Row = std::vector<long double>;

void Renormalize(Row& row) {
  const long double total = std::accumulate(row.begin(), row.end(), 0.0L);
  for (long double& mass : row) mass /= total;
}

std::vector<int> LargestFirst(const Row& row) {
  std::vector<int> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return row[a] > row[b]; });
  return order;
}

void KeepFirst(Row& row, const std::vector<int>& order, std::size_t kept) {
  for (std::size_t i = kept; i < order.size(); ++i) row[order[i]] = 0;
  Renormalize(row);
}

Row Softmax(const Row& logits, double temperature) {
  Row row;
  const long double largest = *std::max_element(logits.begin(), logits.end());
  for (long double logit : logits)
    row.push_back(std::exp((logit - largest) / temperature));
  Renormalize(row);
  return row;
}

Row Reference(const SamplingOptions& options, const std::vector<double>& from,
              const Tokens& history, const Tokens& path) {
  Row logits(from.begin(), from.end());
  std::set<TokenId> seen(history.begin(), history.end());
  seen.insert(path.begin(), path.end());
  const double penalty = options.repetition_penalty;
  for (TokenId token : seen)
    if (token < static_cast<int>(logits.size()))
      logits[token] =
          logits[token] < 0 ? logits[token] * penalty : logits[token] / penalty;
  for (TokenId token : options.banned) logits[token] = -kInfinity;
  if (options.temperature == 0) {
    Row row(logits.size());
    row[LargestFirst(logits)[0]] = 1;
    return row;
  }
  Row row = Softmax(logits, options.temperature);
  const std::vector<int> order = LargestFirst(row);
  if (options.top_k > 0) KeepFirst(row, order, options.top_k);
  if (options.top_p < 1) {
    std::size_t kept = 0;
    for (long double mass = 0; mass < options.top_p && kept < order.size();)
      mass += row[order[kept++]];
    KeepFirst(row, order, kept);
  }
  const long double least = options.min_p * row[order[0]];
  for (long double& mass : row)
    if (mass < least) mass = 0;
  Renormalize(row);
  return row;
}

template <typename T>
T OneOf(LawDice& dice, const std::vector<T>& values) {
  return values[dice.Below(static_cast<int>(values.size()))];
}

SamplingOptions RandomOptions(LawDice& dice, int vocab) {
  SamplingOptions options;
  options.repetition_penalty = OneOf<double>(dice, {1, 1, 2, 0.5});
  for (int i = dice.Below(3); i > 0; --i)
    options.banned.push_back(1 + dice.Below(vocab - 1));
  options.temperature = OneOf<double>(dice, {0, 0.3, 1, 1, 1.7});
  options.top_k = dice.Below(2) * dice.Below(vocab + 2);
  if (dice.Below(2) == 0) options.top_p = 1 - dice.Uniform();
  if (dice.Below(2) == 0) options.min_p = dice.Uniform();
  return options;
}

// Logits in quarters and penalties that keep them exact, so that many are
// equal; token 0 is never banned.
TEST(SamplingRule, AppliesTheStepsInTheirStatedOrder) {
  LawDice dice(1);
  for (int i = 0; i < 5000; ++i) {
    const int vocab = 2 + dice.Below(12);
    std::vector<double> logits(vocab);
    for (double& logit : logits)
      logit = dice.Below(8) == 0 ? -kInfinity : (dice.Below(33) - 16) / 4.0;
    logits[0] = dice.Below(5) - 2;
    Tokens history(dice.Below(6)), path(dice.Below(4));
    for (TokenId& token : history) token = dice.Below(vocab + 1);
    for (TokenId& token : path) token = dice.Below(vocab);
    const SamplingOptions options = RandomOptions(dice, vocab);
    SCOPED_TRACE(absl::StrCat("case ", i, ", temperature ", options.temperature,
                              ", top_k ", options.top_k, ", top_p ",
                              options.top_p, ", min_p ", options.min_p));
    const Distribution law = Law(options, logits, history, path);
    const Row expected = Reference(options, logits, history, path);
    ASSERT_EQ(law.vocab_size(), vocab);
    for (int token = 0; token < vocab; ++token) {
      const double mass = static_cast<double>(expected[token]);
      ASSERT_NEAR(law.Mass(token), mass, 1e-13) << "token " << token;
      ASSERT_EQ(law.Mass(token) > 0, mass > 0) << "token " << token;
    }
    EXPECT_NEAR(law.total(), 1, 1e-12);
    const bool truncates = options.temperature == 0 || options.top_k > 0 ||
                           options.top_p < 1 || options.min_p > 0;
    EXPECT_EQ(law.dense(), !truncates);
    if (truncates) {
      EXPECT_EQ(law.masses().size(), Support(law).size()) << "idle entries";
    }
  }
}

// ---- Temperature

TEST(SamplingRule, IsTheSoftmaxByDefault) {
  const Distribution law = Law({}, LogitsOf({0.5, 0.2, 0.3}));
  EXPECT_TRUE(law.dense());
  EXPECT_NEAR(law.Mass(0), 0.5, 1e-15);
  EXPECT_NEAR(law.Mass(1), 0.2, 1e-15);
  EXPECT_NEAR(law.Mass(2), 0.3, 1e-15);
}

TEST(SamplingRule, DividesTheLogitsByTheTemperature) {
  const std::vector<double> masses =
      Masses({.temperature = 0.5}, LogitsOf({0.5, 0.25, 0.25}));
  EXPECT_NEAR(masses[0], 4 / 6.0, 1e-15);
  EXPECT_NEAR(masses[1], 1 / 6.0, 1e-15);
}

TEST(SamplingRule, TakesTheLargestLogitAtTemperatureZeroTheLowestOnATie) {
  EXPECT_TRUE(SamplingRule({.temperature = 0}).greedy());
  EXPECT_FALSE(SamplingRule().greedy());
  EXPECT_THAT(Masses({.temperature = 0}, {-3, -1, -2}), ElementsAre(0, 1, 0));
  EXPECT_THAT(Masses({.temperature = 0}, {1, 2, 2, 2}),
              ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(Masses({.temperature = 0, .top_k = 3, .top_p = 0.9, .min_p = 1},
                     {1, 2, 2, 2}),
              ElementsAre(0, 1, 0, 0));
}

TEST(SamplingRule, SurvivesTemperaturesAndLogitsAtTheEdge) {
  for (double temperature : {1e-300, 1e-3, 1.0})
    EXPECT_THAT(Masses({.temperature = temperature}, {0, 1e308, -1e308}),
                ElementsAre(0, 1, 0));
  EXPECT_THAT(Masses({.temperature = 1e300}, {0, 9, -kInfinity, 3}),
              ElementsAre(1 / 3.0, 1 / 3.0, 0, 1 / 3.0));
  EXPECT_THAT(Masses({}, {1e308, 1e308}), ElementsAre(0.5, 0.5));
}

TEST(SamplingRule, DoesNotDependOnACommonShiftOfTheLogits) {
  const std::vector<double> masses = Masses({}, {1, 2, 4});
  EXPECT_EQ(Masses({}, {1001, 1002, 1004}), masses);
  EXPECT_EQ(Masses({}, {-1003, -1002, -1000}), masses);
}

// ---- Truncation

TEST(SamplingRule, KeepsTheKLargestTheLowestTokensOnATie) {
  const std::vector<double> logits = {1, 3, 2, 3, 2, 2};
  EXPECT_THAT(Support(Law({.top_k = 1}, logits)), ElementsAre(1));
  EXPECT_THAT(Support(Law({.top_k = 2}, logits)), ElementsAre(1, 3));
  EXPECT_THAT(Support(Law({.top_k = 4}, logits)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Support(Law({.top_k = 99}, logits)),
              ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(SamplingRule, KeepsTheFewestTokensWhoseMassReachesTopP) {
  const std::vector<double> equal = {0, 0, 0, 0};
  EXPECT_THAT(Support(Law({.top_p = 0.5}, equal)), ElementsAre(0, 1));
  EXPECT_THAT(Support(Law({.top_p = std::nextafter(0.5, 1)}, equal)),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(Support(Law({.top_p = 1e-9}, equal)), ElementsAre(0));
  const std::vector<double> logits = LogitsOf({0.1, 0.4, 0.2, 0.3});
  EXPECT_THAT(Support(Law({.top_p = 0.65}, logits)), ElementsAre(1, 3));
  EXPECT_THAT(Support(Law({.top_p = 0.95}, logits)), ElementsAre(0, 1, 2, 3));
}

TEST(SamplingRule, KeepsWhatHasAtLeastMinPTimesTheLargestMass) {
  const std::vector<double> logits = LogitsOf({0.1, 0.4, 0.2, 0.3});
  EXPECT_THAT(Support(Law({.min_p = 0.4}, logits)), ElementsAre(1, 2, 3));
  EXPECT_THAT(Support(Law({.min_p = 0.6}, logits)), ElementsAre(1, 3));
  EXPECT_THAT(Support(Law({.min_p = 1}, {2, 1, 2})), ElementsAre(0, 2));
}

// 0.4 of {0.4, 0.3} is 0.57 once renormalised: one token reaches 0.55.
TEST(SamplingRule, MeasuresTopPAfterTopK) {
  const std::vector<double> logits = LogitsOf({0.4, 0.3, 0.2, 0.1});
  EXPECT_THAT(Support(Law({.top_k = 2, .top_p = 0.55}, logits)),
              ElementsAre(0));
  EXPECT_THAT(Support(Law({.top_p = 0.55}, logits)), ElementsAre(0, 1));
}

// Were min_p first, 0.4 would be 0.57 of what it keeps and alone reach 0.55.
TEST(SamplingRule, MeasuresTopPBeforeMinP) {
  const std::vector<double> logits = LogitsOf({0.4, 0.3, 0.2, 0.1});
  EXPECT_THAT(Support(Law({.top_p = 0.55, .min_p = 0.6}, logits)),
              ElementsAre(0, 1));
}

// ---- Penalty and bans

TEST(SamplingRule, DividesPositiveLogitsAndMultipliesNegativeOnes) {
  const SamplingOptions options = {.repetition_penalty = 2};
  const std::vector<double> penalised =
      Masses(options, {2, -1, 0, 1}, {0, 1, 2});
  EXPECT_EQ(penalised, Masses({}, {1, -2, 0, 1}));
}

TEST(SamplingRule, PenalisesATokenOnceHoweverOftenItOccurs) {
  const SamplingOptions options = {.repetition_penalty = 2};
  EXPECT_EQ(Masses(options, {4, 1}, {0, 0, 0}, {0, 0}), Masses({}, {2, 1}));
}

TEST(SamplingRule, CountsThePathAsHistory) {
  const SamplingOptions options = {.repetition_penalty = 2};
  EXPECT_EQ(Masses(options, {4, 2, 2}, {0}, {2}), Masses({}, {2, 2, 1}));
  EXPECT_EQ(Masses(options, {4, 2, 2}, {}, {0, 2}), Masses({}, {2, 2, 1}));
}

TEST(SamplingRule, IgnoresABeginTokenInTheHistory) {
  const SamplingOptions options = {.repetition_penalty = 2};
  EXPECT_EQ(Masses(options, {4, 1}, {2, 0}), Masses({}, {2, 1}));
}

TEST(SamplingRule, PenalisesBeforeItChooses) {
  EXPECT_THAT(Masses({.repetition_penalty = 3, .temperature = 0}, {4, 2}, {0}),
              ElementsAre(0, 1));
  EXPECT_THAT(Support(Law({.repetition_penalty = 3, .top_k = 1}, {4, 2}, {0})),
              ElementsAre(1));
}

TEST(SamplingRule, NeverEmitsABannedToken) {
  for (double temperature : {0.0, 1.0})
    EXPECT_THAT(Masses({.banned = {1, 2}, .temperature = temperature},
                       {0, 9, 9, -kInfinity}),
                ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(Support(Law({.banned = {1}, .top_k = 2}, {1, 9, 2, 0})),
              ElementsAre(0, 2));
}

TEST(SamplingRule, GivesMinusInfinityNoMass) {
  const std::vector<double> logits = {-kInfinity, 1, -kInfinity};
  const Tokens all = {0, 1, 2};
  for (const SamplingOptions& options :
       std::vector<SamplingOptions>{{},
                                    {.repetition_penalty = 1.5},
                                    {.temperature = 0},
                                    {.temperature = 1e300},
                                    {.top_k = 3},
                                    {.top_p = 0.999},
                                    {.min_p = 1e-300}})
    EXPECT_THAT(Masses(options, logits, all), ElementsAre(0, 1, 0));
}

// ---- Errors

TEST(SamplingRule, RefusesALogitThatIsNoNumberAndNamesItsToken) {
  for (const SamplingOptions& options : std::vector<SamplingOptions>{
           {}, {.temperature = 0}, {.top_k = 1}, {.banned = {2}}}) {
    EXPECT_THAT(Refusal(options, {1, 0, kNaN, 0}),
                testing::AllOf(HasSubstr("token 2"), HasSubstr("nan")));
    EXPECT_THAT(Refusal(options, {1, 0, kInfinity, 0}),
                testing::AllOf(HasSubstr("token 2"), HasSubstr("inf")));
  }
}

TEST(SamplingRule, RefusesARowThatLeavesNoToken) {
  for (double temperature : {0.0, 1.0}) {
    const SamplingOptions options = {.banned = {1}, .temperature = temperature};
    for (const std::vector<double>& logits : std::vector<std::vector<double>>{
             {-kInfinity, -kInfinity}, {-kInfinity, 5}, {}})
      EXPECT_THAT(Refusal(options, logits), HasSubstr("no token"));
  }
}

TEST(SamplingRule, RefusesALogitThatThePenaltyMakesInfinite) {
  const auto law =
      SamplingRule({.repetition_penalty = 0.1}).Apply({{1e308, 0}}, {0}, {});
  EXPECT_TRUE(absl::IsInvalidArgument(law.status())) << law.status();
}

TEST(SamplingRuleDeathTest, DiesOfOptionsOutOfRange) {
  for (const SamplingOptions& options :
       std::vector<SamplingOptions>{{.repetition_penalty = 0},
                                    {.repetition_penalty = kNaN},
                                    {.temperature = -1},
                                    {.temperature = kInfinity},
                                    {.top_k = -1},
                                    {.top_p = 0},
                                    {.top_p = kNaN},
                                    {.min_p = -0.1},
                                    {.min_p = 1.1}})
    EXPECT_DEATH(SamplingRule{options}, "check failed");
}

// ---- Configuration

// One entry a line, values in column 9.
Params Section(const std::vector<std::pair<std::string, std::string>>& text) {
  const auto file = std::make_shared<const std::string>("c.yaml");
  std::vector<Params::Entry> entries;
  for (const auto& [key, value] : text) {
    const int line = static_cast<int>(entries.size()) + 1;
    entries.push_back(
        {key, {file, line, 1}, Params::Scalar(value, {file, line, 9})});
  }
  return Params::Map(std::move(entries), {file, 1, 1});
}

TEST(SamplingRule, HasThePlainSoftmaxAsItsDefault) {
  const absl::StatusOr<SamplingRule> rule = SamplingRule::FromParams(Params());
  ASSERT_TRUE(rule.ok()) << rule.status();
  const SamplingOptions& options = rule->options();
  EXPECT_EQ(options.repetition_penalty, 1);
  EXPECT_TRUE(options.banned.empty());
  EXPECT_EQ(options.temperature, 1);
  EXPECT_EQ(options.top_k, 0);
  EXPECT_EQ(options.top_p, 1);
  EXPECT_EQ(options.min_p, 0);
}

TEST(SamplingRule, ReadsEveryKeyOfItsSection) {
  std::vector<Params::Entry> entries = {
      {"repetition_penalty", {}, Params::Scalar("1.5")},
      {"banned", {}, Params::List({Params::Scalar("3"), Params::Scalar("0")})},
      {"temperature", {}, Params::Scalar("0")},
      {"top_k", {}, Params::Scalar("40")},
      {"top_p", {}, Params::Scalar("0.9")},
      {"min_p", {}, Params::Scalar("1")}};
  const auto rule = SamplingRule::FromParams(Params::Map(std::move(entries)));
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_EQ(rule->options().repetition_penalty, 1.5);
  EXPECT_THAT(rule->options().banned, ElementsAre(3, 0));
  EXPECT_TRUE(rule->greedy());
  EXPECT_EQ(rule->options().top_k, 40);
  EXPECT_EQ(rule->options().top_p, 0.9);
  EXPECT_EQ(rule->options().min_p, 1);
}

TEST(SamplingRule, RefusesEveryValueOutOfRangeWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"temperature", "-0.1"},
      {"temperature", "nan"},
      {"temperature", "inf"},
      {"temperature", "warm"},
      {"top_k", "-1"},
      {"top_k", "1.5"},
      {"top_p", "0"},
      {"top_p", "1.01"},
      {"top_p", "-0.5"},
      {"min_p", "-0.1"},
      {"min_p", "1.01"},
      {"repetition_penalty", "0"},
      {"repetition_penalty", "-1"},
      {"banned", "3"}};
  for (const auto& [key, value] : bad) {
    const absl::Status status =
        SamplingRule::FromParams(Section({{key, value}})).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << key << " " << value;
    EXPECT_THAT(status.message(), HasSubstr("c.yaml:1:9")) << value;
  }
}

TEST(SamplingRule, RefusesABannedTokenThatIsNegative) {
  std::vector<Params::Entry> entries = {
      {"banned",
       {},
       Params::List({Params::Scalar("0"), Params::Scalar("-1")})}};
  EXPECT_TRUE(absl::IsInvalidArgument(
      SamplingRule::FromParams(Params::Map(std::move(entries))).status()));
}

TEST(SamplingRule, RefusesAnUnknownKeyAndNamesTheNearest) {
  const absl::Status status =
      SamplingRule::FromParams(Section({{"top_k", "1"}, {"temprature", "1"}}))
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.message(),
              testing::AllOf(HasSubstr("c.yaml:2:1"), HasSubstr("temprature"),
                             HasSubstr("'temperature'")));
}

}  // namespace
}  // namespace banyan
