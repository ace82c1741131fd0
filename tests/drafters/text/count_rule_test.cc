#include <cmath>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/text/token_counts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

// A logarithm and an exponential.
constexpr double kRounding = 1e-15;

const CountRow kCounts = {5, {1, 2, 4}, {6, 3, 1}};

Distribution Apply(const SamplingOptions& options, DrawKind draw_kind,
                   absl::Span<const TokenId> history = {},
                   absl::Span<const TokenId> path = {}) {
  absl::StatusOr<Proposal> proposal =
      CountRule(SamplingRule(options)).Apply(draw_kind, kCounts, history, path);
  EXPECT_TRUE(proposal.ok()) << proposal.status();
  return proposal->q;
}

void ExpectMasses(const Distribution& law, const std::vector<double>& masses) {
  EXPECT_THAT(Masses(law), Pointwise(DoubleNear(kRounding), masses));
}

TEST(CountRule, KeepsCountsAtTemperatureOne) {
  for (DrawKind draw_kind : kDrawKinds)
    EXPECT_THAT(Masses(Apply({}, draw_kind)), ElementsAre(0, 6, 3, 0, 1));
}

TEST(CountRule, TemperatureIsAPowerOfTheCounts) {
  for (DrawKind draw_kind :
       {DrawKind::kIndependent, DrawKind::kWithoutReplacement})
    ExpectMasses(Apply({.temperature = 0.5}, draw_kind),
                 {0, 36. / 46, 9. / 46, 0, 1. / 46});
}

TEST(CountRule, GreedyIsTheLargestCount) {
  ExpectMasses(Apply({.temperature = 0}, DrawKind::kIndependent),
               {0, 1, 0, 0, 0});
}

TEST(CountRule, TruncatesAsTheRuleSays) {
  ExpectMasses(Apply({.top_k = 2}, DrawKind::kIndependent),
               {0, 6. / 9, 3. / 9, 0, 0});
  ExpectMasses(Apply({.top_p = 0.5}, DrawKind::kIndependent), {0, 1, 0, 0, 0});
  ExpectMasses(Apply({.min_p = 0.4}, DrawKind::kIndependent),
               {0, 6. / 9, 3. / 9, 0, 0});
}

TEST(CountRule, RanksByTheCountsThemselves) {
  EXPECT_THAT(Masses(Apply({.temperature = 0}, DrawKind::kDeterministic)),
              ElementsAre(0, 6, 3, 0, 1));
  EXPECT_THAT(
      Masses(Apply({.temperature = 0.5, .top_k = 1}, DrawKind::kDeterministic)),
      ElementsAre(0, 6, 3, 0, 1));
}

TEST(CountRule, LeavesOutBannedTokens) {
  for (DrawKind draw_kind : kDrawKinds)
    EXPECT_THAT(Masses(Apply({.banned = {0, 1}}, draw_kind)),
                ElementsAre(0, 0, 3, 0, 1));
  ExpectMasses(Apply({.banned = {1}, .temperature = 0}, DrawKind::kIndependent),
               {0, 0, 1, 0, 0});
  EXPECT_TRUE(
      Apply({.banned = {1, 2, 4}, .temperature = 0}, DrawKind::kIndependent)
          .empty());
}

TEST(CountRule, RanksByCountsThatTheRuleWouldChange) {
  for (const DrawKind draw_kind : kDrawKinds)
    for (const double temperature : {0.5, 1.0}) {
      const auto proposal =
          CountRule(SamplingRule({.temperature = temperature}))
              .Apply(draw_kind, kCounts, {}, {});
      ASSERT_TRUE(proposal.ok()) << proposal.status();
      EXPECT_EQ(proposal->ranked,
                draw_kind == DrawKind::kDeterministic && temperature != 1);
    }
}

TEST(CountRule, PenalisesWhatStandsInTheText) {
  // log(0.6) and log(0.1) are doubled, wherever the token stands.
  const double sum = 0.36 + 0.3 + 0.01;
  ExpectMasses(
      Apply({.repetition_penalty = 2}, DrawKind::kIndependent, {1, 3, 1}, {4}),
      {0, 0.36 / sum, 0.3 / sum, 0, 0.01 / sum});
  // Enough of it changes which is the largest.
  ExpectMasses(Apply({.repetition_penalty = 3, .temperature = 0},
                     DrawKind::kIndependent, {}, {1}),
               {0, 0, 1, 0, 0});
}

TEST(CountRule, KnowsWhetherItReadsTheText) {
  EXPECT_FALSE(CountRule(SamplingRule({.temperature = 0.3})).reads_text());
  EXPECT_TRUE(CountRule(SamplingRule({.repetition_penalty = 2})).reads_text());
}

TEST(CountRule, OfNothingIsNothing) {
  for (double temperature : {0., 0.5, 1.}) {
    const absl::StatusOr<Proposal> proposal =
        CountRule(SamplingRule({.temperature = temperature}))
            .Apply(DrawKind::kIndependent, {.vocab_size = 5}, {}, {});
    ASSERT_TRUE(proposal.ok()) << proposal.status();
    EXPECT_TRUE(proposal->q.empty());
    EXPECT_EQ(proposal->q.vocab_size(), 5);
  }
}

}  // namespace
}  // namespace banyan
