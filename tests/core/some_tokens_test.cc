// A sampling rule on the logits of some tokens alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "core/base/token.h"
#include "core/prob/sampling_rule.h"
#include "tests/core/laws.h"
#include "tests/core/not_finite.h"

namespace banyan {
namespace {

using Tokens = std::vector<TokenId>;

// ApplyToSome is bit-identical to ApplyTo with all other logits at -infinity.
TEST(SamplingRule, OfSomeTokensIsThatOfTheRowWithoutTheOthers) {
  constexpr int kVocab = 1000;
  const std::vector<SamplingOptions> rules = {
      {.temperature = 1},
      {.temperature = 0},
      {.temperature = 0.3},
      {.temperature = 1, .top_k = 7},
      {.temperature = 1, .top_p = 0.8},
      {.temperature = 1, .min_p = 0.1},
      {.repetition_penalty = 1.5, .temperature = 1},
      {.repetition_penalty = 1.5, .temperature = 0},
      {.banned = {3, 300, 999}, .temperature = 1}};
  const Tokens history = {3, 5, 400, 1001};
  const Tokens path = {7, 999};
  for (const int step : {1, 3, 255, 999})
    for (const SamplingOptions& options : rules) {
      Tokens tokens;
      std::vector<double> some;
      std::vector<double> row(kVocab, -kInfinity);
      for (int token = step % 5; token < kVocab; token += step) {
        tokens.push_back(token);
        some.push_back(std::sin(token * 12.9) * 6);
        row[static_cast<std::size_t>(token)] = some.back();
      }
      const SamplingRule rule(options);
      const auto expected = rule.Apply(row, history, path);
      const auto got = rule.ApplyToSome(some, tokens, kVocab, history, path);
      ASSERT_EQ(got.ok(), expected.ok()) << got.status() << expected.status();
      if (!got.ok()) continue;
      EXPECT_EQ(got->total(), expected->total());
      EXPECT_EQ(MassesOf(*got), MassesOf(*expected)) << step;
      EXPECT_EQ(got->Argmax(), expected->Argmax());
    }
  const std::vector<double> bad = {1, kNaN};
  EXPECT_TRUE(
      absl::IsInvalidArgument(SamplingRule({.temperature = 1})
                                  .ApplyToSome(bad, Tokens{2, 4}, 5, {}, {})
                                  .status()));
  const std::vector<double> none = {-kInfinity, -kInfinity};
  EXPECT_FALSE(SamplingRule({.temperature = 1})
                   .ApplyToSome(none, Tokens{2, 4}, 5, {}, {})
                   .ok());
}

}  // namespace
}  // namespace banyan
