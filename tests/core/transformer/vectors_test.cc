// Rows that start from a vector in the place of their token's embedding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "core/transformer/transformer.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/dice.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

using Rows = std::vector<float>;

struct Scored {
  std::vector<Logits> logits;
  Rows starts;  // the states before the first layer
};

Scored MustScore(const Model& model, const ScoreRequest& request) {
  auto scores = model.Score({&request, 1});
  Check(scores.ok(), scores.status().message());
  const auto size = static_cast<std::size_t>(model.hidden_size());
  Scored scored;
  for (int row = 0; row < request.batch->size(); ++row) {
    scored.logits.push_back(MustRead(*scores->front(), row));
    scored.starts.resize(scored.starts.size() + size);
    const absl::Status status = scores->front()->ReadHidden(
        0, row, absl::MakeSpan(scored.starts).last(size));
    Check(status.ok(), status.message());
  }
  return scored;
}

void ExpectSame(const Scored& got, const Scored& expected) {
  EXPECT_EQ(got.starts, expected.starts);
  for (std::size_t row = 0; row < got.logits.size(); ++row)
    EXPECT_TRUE(SameBits(got.logits[row], expected.logits[row]))
        << "row " << row;
}

// A session that holds some text, and a tree to score.
struct Case {
  explicit Case(const Model& some_model) : model(some_model) {
    Dice dice(3);
    text = RandomText(model, 11, dice);
    Walk walk(model);
    walk.Prefill(text);
    batch = walk.RandomBatch(7, dice);
  }
  std::unique_ptr<Session> Start() const {
    auto session = model.NewSession();
    const absl::Status status = session->Prefill(text);
    Check(status.ok(), status.message());
    return session;
  }
  // What learned positions add to each row, by rows of zeros.
  Rows Positions() const {
    const auto session = Start();
    const Rows zeros(static_cast<std::size_t>(batch.size()) *
                     static_cast<std::size_t>(model.hidden_size()));
    return MustScore(model, {session.get(), &batch, {0}, 0, zeros}).starts;
  }

  const Model& model;
  std::vector<TokenId> text;
  TokenBatch batch;
};

std::vector<std::shared_ptr<Backend>> OneOfEach() {
  return {Backends().front(), HostDeviceBackend()};
}

class Vectors : public testing::TestWithParam<std::string> {};

// With the embeddings themselves nothing changes; tokens then only name rows.
TEST_P(Vectors, StandForEmbeddings) {
  for (const auto& backend : OneOfEach()) {
    const auto model = LoadGolden(GetParam(), backend, WeightFormat::kF32);
    const Case test(*model);
    const auto session = test.Start();
    const Scored expected =
        MustScore(*model, {session.get(), &test.batch, {0}});
    const Rows positions = test.Positions();
    Rows embeddings(expected.starts.size());
    std::transform(
        expected.starts.begin(), expected.starts.end(), positions.begin(),
        embeddings.begin(),
        [](float start, float position) { return start - position; });
    TokenBatch others = test.batch;
    std::fill(others.tokens.begin(), others.tokens.end(), 1);
    const auto again = test.Start();
    const Scored got =
        MustScore(*model, {again.get(), &others, {0}, 0, embeddings});
    const bool learned = std::any_of(positions.begin(), positions.end(),
                                     [](float x) { return x != 0; });
    EXPECT_EQ(learned, GetParam() == "gpt2");
    if (learned)  // a difference of floats has its own rounding
      EXPECT_NE(got.logits,
                MustScore(*model, {test.Start().get(), &others, {0}}).logits);
    else
      ExpectSame(got, expected);
  }
}

// Sessions that start from tokens and from vectors share a pass, and each row
// keeps its bits.
TEST_P(Vectors, ShareAPassWithTokens) {
  for (const auto& backend : OneOfEach()) {
    const auto model = LoadGolden(GetParam(), backend, WeightFormat::kBf16);
    const Case test(*model);
    Dice dice(8);
    Rows vectors(
        static_cast<std::size_t>(test.batch.size() * model->hidden_size()));
    for (float& x : vectors) x = static_cast<float>(dice.Between(-99, 99)) / 64;
    const auto first = test.Start();
    const auto second = test.Start();
    const auto third = test.Start();
    const std::vector<ScoreRequest> together = {
        {first.get(), &test.batch},
        {second.get(), &test.batch, {0}, 0, vectors},
        {third.get(), &test.batch}};
    const auto scores = model->Score(together);
    ASSERT_TRUE(scores.ok()) << scores.status();
    const auto alone = test.Start();
    const Scored of_vectors =
        MustScore(*model, {alone.get(), &test.batch, {0}, 0, vectors});
    const auto plain = test.Start();
    const Scored of_tokens = MustScore(*model, {plain.get(), &test.batch, {0}});
    for (int row = 0; row < test.batch.size(); ++row) {
      const auto at = static_cast<std::size_t>(row);
      EXPECT_TRUE(SameBits(MustRead(*(*scores)[0], row), of_tokens.logits[at]));
      EXPECT_TRUE(
          SameBits(MustRead(*(*scores)[1], row), of_vectors.logits[at]));
      EXPECT_TRUE(SameBits(MustRead(*(*scores)[2], row), of_tokens.logits[at]));
      EXPECT_FALSE(SameBits(of_tokens.logits[at], of_vectors.logits[at]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Vectors,
                         testing::Values("llama", "qwen3", "gpt2"),
                         [](const auto& test) { return test.param; });

TEST(Vectors, OfAnotherSizeAreRefusedAndNothingIsPending) {
  const auto model =
      LoadGolden("llama", Backends().front(), WeightFormat::kF32);
  const Case test(*model);
  const auto session = test.Start();
  const Rows few(static_cast<std::size_t>(model->hidden_size()) * 6);
  const ScoreRequest request = {session.get(), &test.batch, {}, 0, few};
  const absl::Status status = model->Score({&request, 1}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("to start 7 rows"), std::string::npos)
      << status;
  EXPECT_EQ(session->pending(), 0);

  const TableModel table = TableModel::Bigram({1, 0}, {{0.5, 0.5}, {1, 0}});
  const auto other = table.NewSession();
  const TokenBatch batch = TokenBatch::Chain({0}, 0);
  const ScoreRequest of_table = {other.get(), &batch, {}, 0, few};
  EXPECT_EQ(table.Score({&of_table, 1}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace banyan
