// A trimmed model gives the same logits for its tokens as the whole model:
// every family, every format, every device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/devices.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/transformer.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/dice.h"
#include "tests/support/host_part.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/shared_models.h"

namespace banyan {
namespace {

using testing::HasSubstr;

// Every third token, from the first or second on.
std::vector<TokenId> Some(const Transformer& model, int first) {
  std::vector<TokenId> tokens;
  for (TokenId token = first; token < model.network().options().used_vocab;
       token += 3)
    tokens.push_back(token);
  return tokens;
}

// Output distributions of the rows of a text.
std::vector<Distribution> After(const Model& model,
                                const std::vector<TokenId>& text) {
  const auto session = model.NewSession();
  const TokenBatch batch = TokenBatch::Chain(text, 0);
  const auto scores = ScoreOne(model, *session, batch);
  EXPECT_TRUE(scores.ok()) << scores.status();
  std::vector<Distribution> rows;
  for (int row = 0; row < static_cast<int>(text.size()); ++row)
    rows.push_back((*scores)
                       ->Law(row, SamplingRule({.temperature = 0.7}), {}, {})
                       .value());
  return rows;
}

class Trimmed : public testing::TestWithParam<GoldenOnDevice> {};

TEST_P(Trimmed, SaysOfItsTokensWhatTheWholeModelSays) {
  if (GetParam().LeftOut()) GTEST_SKIP() << kHostLeftOut;
  for (const WeightFormat format :
       {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8}) {
    const std::shared_ptr<const Transformer> whole =
        LoadGolden(GetParam().golden, BackendOf(GetParam().device), format);
    const std::vector<TokenId> tokens = Some(*whole, 1);
    const auto trimmed = TrimOutputs(whole, tokens);
    ASSERT_TRUE(trimmed.ok()) << trimmed.status();
    EXPECT_EQ((*trimmed)->vocab_size(), whole->vocab_size());
    EXPECT_LT((*trimmed)->facts().streamed_bytes,
              whole->facts().streamed_bytes);
    EXPECT_LT((*trimmed)->facts().operations_per_token,
              whole->facts().operations_per_token);
    Dice dice(7);
    const std::vector<TokenId> text = RandomText(*whole, 5, dice);
    const auto session = (*trimmed)->NewSession();
    const auto full_session = whole->NewSession();
    const TokenBatch batch = TokenBatch::Chain(text, 0);
    const auto scores = ScoreOne(**trimmed, *session, batch);
    const auto full = ScoreOne(*whole, *full_session, batch);
    ASSERT_TRUE(scores.ok() && full.ok()) << scores.status() << full.status();
    for (int row = 0; row < batch.size(); ++row) {
      std::vector<double> got;
      std::vector<double> expected;
      ASSERT_TRUE((*scores)->Read(row, got).ok());
      ASSERT_TRUE((*full)->Read(row, expected).ok());
      ASSERT_EQ(got.size(), expected.size());
      std::size_t next = 0;
      for (std::size_t token = 0; token < got.size(); ++token) {
        if (next == tokens.size() ||
            static_cast<std::size_t>(tokens[next]) != token) {
          EXPECT_EQ(got[token], -std::numeric_limits<double>::infinity());
          continue;
        }
        ++next;
        if (format == WeightFormat::kQ8)  // rounded anew
          EXPECT_NEAR(got[token], expected[token],
                      0.02 * (1 + std::fabs(expected[token])));
        else
          EXPECT_EQ(got[token], expected[token]) << token;
      }
      EXPECT_EQ(next, tokens.size());
      // Distributions and Best() agree with the logits that Read() returned.
      for (const SamplingOptions& options :
           {SamplingOptions{.temperature = 1},
            SamplingOptions{.temperature = 0},
            SamplingOptions{.temperature = 1, .top_k = 4}}) {
        const SamplingRule rule(options);
        const auto found = (*scores)->Law(row, rule, text, {});
        const auto of_read = rule.Apply(got, text, {});
        ASSERT_TRUE(found.ok() && of_read.ok()) << found.status();
        EXPECT_TRUE(Equal(*found, *of_read));
      }
      const auto best = (*scores)->Best(row, 3);
      ASSERT_TRUE(best.ok()) << best.status();
      for (const TokenLogit& one : *best)
        EXPECT_EQ(one.logit, got[static_cast<std::size_t>(one.token)]);
      EXPECT_EQ(best->front().token % 3, 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, Trimmed,
                         testing::ValuesIn(GoldensOnDevices()),
                         [](const auto& row) { return row.param.ToText(); });

TEST(Trimmed, TrimsWhatIsTrimmedAlready) {
  const std::shared_ptr<const Transformer> whole =
      LoadGolden("llama", BackendOf("cpu"));
  const auto once = TrimOutputs(whole, {1, 4, 7, 10});
  ASSERT_TRUE(once.ok());
  const auto twice = TrimOutputs(*once, {0, 4, 5, 10, 11});
  ASSERT_TRUE(twice.ok());
  const auto both = TrimOutputs(whole, {4, 10});
  ASSERT_TRUE(both.ok());
  const std::vector<TokenId> text = {1, 3, 2};
  const std::vector<Distribution> got = After(**twice, text);
  const std::vector<Distribution> expected = After(**both, text);
  for (std::size_t row = 0; row < text.size(); ++row)
    EXPECT_TRUE(Equal(got[row], expected[row])) << row;
  EXPECT_THAT(std::string(TrimOutputs(*once, {0, 5}).status().message()),
              HasSubstr("expected a token that the model has a logit for"));
}

TEST(Trimmed, AnOutlineIsTrimmedWithoutItsWeights) {
  const std::shared_ptr<const Transformer> outline =
      LoadGolden("llama", OutlineOf(BackendOf("cpu")));
  const auto trimmed = TrimOutputs(outline, {1, 4});
  ASSERT_TRUE(trimmed.ok()) << trimmed.status();
  EXPECT_LT((*trimmed)->facts().streamed_bytes,
            outline->facts().streamed_bytes);
}

// A model without an output matrix computes all and gives some.
TEST(Trimmed, ATableIsMasked) {
  const auto table = std::make_shared<TableModel>(TableModel::Bigram(
      {.2, .3, .5}, {{.1, .2, .7}, {.3, .3, .4}, {.6, .2, .2}}));
  const auto trimmed = TrimOutputs(table, {0, 2});
  ASSERT_TRUE(trimmed.ok());
  const std::vector<double> logits = LogitsAfter(**trimmed, {3, 1});
  EXPECT_NEAR(logits[0], std::log(.3), 1e-12);
  EXPECT_EQ(logits[1], -std::numeric_limits<double>::infinity());
  const Distribution masked =
      LawAfter(**trimmed, {3, 1}, SamplingRule({.temperature = 1}));
  EXPECT_NEAR(masked.Mass(0), 3.0 / 7, 1e-12);
  EXPECT_EQ(masked.Mass(1), 0);
}

}  // namespace
}  // namespace banyan
