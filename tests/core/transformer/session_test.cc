// What a transformer and its sessions refuse, and that refusing changes
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/token.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/weight.h"
#include "core/transformer/transformer.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/dice.h"
#include "tests/support/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

constexpr int kNone = TokenBatch::kCommitted;

class Refusals : public testing::TestWithParam<std::string> {
 protected:
  Refusals() {
    Dice dice(1);
    for (Walk* walk : {&walk_, &other_}) {
      walk->Prefill(RandomText(*model_, 6, dice));
      walk->Score(walk->RandomBatch(5, dice));
    }
    position_ = walk_.session().length();
  }

  // Scores `requests`, which must fail; the sessions must go on as if they had
  // not been asked.
  void ExpectRefused(const std::vector<ScoreRequest>& requests,
                     const std::string& because) {
    const auto scores = model_->Score(requests);
    ASSERT_FALSE(scores.ok()) << because;
    EXPECT_THAT(scores.status().message(), testing::HasSubstr(because));
    ExpectUntouched();
  }
  void ExpectRefused(const TokenBatch& batch, const std::string& because) {
    ExpectRefused({{&walk_.session(), &batch}}, because);
    // As the last of two, where the first is in order.
    const TokenBatch fine = ChainAfter(other_.session(), {1});
    ExpectRefused({{&other_.session(), &fine}, {&walk_.session(), &batch}},
                  because);
  }
  void ExpectUntouched() {
    for (Walk* walk : {&walk_, &other_}) {
      ASSERT_EQ(walk->session().length(), walk->committed().size());
      ASSERT_EQ(walk->session().pending(), walk->pending());
      Dice dice(2);
      const int first = walk->pending();
      const auto scores = walk->Score(walk->RandomBatch(3, dice));
      ExpectFaithful(*scores, first, 3, *walk, oracle_, GetParam());
    }
  }

  std::shared_ptr<Backend> backend_ = Backends().front();
  std::unique_ptr<Transformer> model_ = LoadGolden(GetParam(), backend_);
  Oracle oracle_{*model_};
  Walk walk_{*model_};
  Walk other_{*model_};
  int position_;
};

TEST_P(Refusals, OfTokensOutsideTheVocabulary) {
  const int vocab = model_->vocab_size();
  for (TokenId token : {-1, vocab, std::numeric_limits<TokenId>::max(),
                        std::numeric_limits<TokenId>::min()}) {
    ExpectRefused({{token}, {position_}, {kNone}}, std::to_string(token));
    ExpectRefused({{1, token}, {position_, position_}, {kNone, kNone}},
                  std::to_string(token));
  }
}

TEST_P(Refusals, OfWrongPositions) {
  for (int position : {-1, 0, position_ - 1, position_ + 1})
    ExpectRefused({{1}, {position}, {kNone}}, "position");
  const int row = walk_.pending();
  ExpectRefused({{1, 2}, {position_, position_}, {kNone, row}}, "position");
  ExpectRefused({{1}, {position_}, {0}}, "position");
}

TEST_P(Refusals, OfWrongParents) {
  // Refusals leave two sessions with more rows each time: so the row of the
  // batch itself is asked for anew.
  ExpectRefused({{1}, {position_}, {-2}}, "row -2");
  ExpectRefused({{1}, {position_ + 1}, {1000}}, "row 1000");
  const int self = walk_.pending();
  const TokenBatch itself = {{1}, {position_ + 1}, {self}};
  ExpectRefused({{&walk_.session(), &itself}}, "does not stand before");
  const int next = walk_.pending();
  const TokenBatch later = {
      {1, 2}, {position_ + 1, position_}, {next + 1, kNone}};
  ExpectRefused({{&walk_.session(), &later}}, "does not stand before");
}

TEST_P(Refusals, OfListsOfDifferentLengths) {
  ExpectRefused({{1, 2}, {position_}, {kNone, kNone}}, "2 tokens");
  ExpectRefused({{1, 2}, {position_, position_}, {kNone}}, "2 tokens");
  ExpectRefused({{1}, {position_, position_}, {kNone, kNone}}, "1 tokens");
}

TEST_P(Refusals, OfEmptyBatches) { ExpectRefused(TokenBatch{}, "tokens"); }

TEST_P(Refusals, OfTapsThatAreNone) {
  const TokenBatch batch = {{1}, {position_}, {kNone}};
  for (int tap : {-2, model_->layers() + 1, 1000})
    ExpectRefused({{&walk_.session(), &batch, {0, tap}}}, std::to_string(tap));
}

TEST_P(Refusals, OfOneSessionTwice) {
  const TokenBatch batch = {{1}, {position_}, {kNone}};
  ExpectRefused({{&walk_.session(), &batch}, {&walk_.session(), &batch}},
                "twice");
}

TEST_P(Refusals, OfAnotherModelsSession) {
  const auto stranger = LoadGolden(GetParam(), backend_);
  const auto session = stranger->NewSession();
  const TokenBatch batch = {{1}, {0}, {kNone}};
  ExpectRefused({{session.get(), &batch}}, "another model");
  EXPECT_EQ(session->pending(), 0);
  const TokenBatch mine = ChainAfter(walk_.session(), {1});
  ExpectRefused({{&walk_.session(), &mine}, {session.get(), &batch}},
                "another model");
}

TEST_P(Refusals, OfPathsThatAreNone) {
  // Rows 5 and 6 follow the prefix, row 7 follows row 5.
  walk_.Score(
      {{1, 2, 3}, {position_, position_, position_ + 1}, {kNone, kNone, 5}});
  for (const std::vector<int>& path : std::vector<std::vector<int>>{
           {7}, {5, 6}, {6, 7}, {-1}, {8}, {5, 5}, {7, 5}, {5, 7, 7}}) {
    EXPECT_FALSE(walk_.session().Commit(path).ok())
        << testing::PrintToString(path);
    ExpectUntouched();
    if (testing::Test::HasFailure()) break;
    walk_.Commit({});
    walk_.Score({{1, 2, 3, 4, 5},
                 std::vector<int>(5, position_),
                 std::vector<int>(5, kNone)});
    walk_.Score(
        {{1, 2, 3}, {position_, position_, position_ + 1}, {kNone, kNone, 5}});
  }
}

TEST_P(Refusals, ToPrefill) {
  EXPECT_FALSE(walk_.session().Prefill({1}).ok()) << "rows are pending";
  ExpectUntouched();
  walk_.Commit({});
  other_.Commit({});
  EXPECT_FALSE(walk_.session().Prefill({1, -1}).ok());
  ExpectUntouched();
  walk_.Commit({});
  EXPECT_FALSE(walk_.session().Prefill({1, model_->vocab_size()}).ok());
  ExpectUntouched();
  walk_.Commit({});
  const std::vector<TokenId> many(
      static_cast<std::size_t>(model_->context_limit() - position_ + 1), 1);
  const absl::Status status = walk_.session().Prefill(many);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
  EXPECT_THAT(status.message(),
              testing::HasSubstr(std::to_string(model_->context_limit())));
  ExpectUntouched();
}

TEST_P(Refusals, ToPrefillWhatItsReaderRefuses) {
  walk_.Commit({});
  other_.Commit({});
  int calls = 0;
  const absl::Status failed = walk_.session().Prefill(
      {1, 2}, {0}, [&](const Scores& /*piece*/, int rows) {
        calls += rows;
        return absl::DataLossError("the reader");
      });
  EXPECT_EQ(failed, absl::DataLossError("the reader"));
  EXPECT_EQ(calls, 2);
  ExpectUntouched();
  walk_.Commit({});
  other_.Commit({});
  const auto never = [&](const Scores& /*piece*/, int /*rows*/) {
    ++calls;
    return absl::OkStatus();
  };
  EXPECT_EQ(walk_.session().Prefill({1}, {model_->layers() + 1}, never).code(),
            absl::StatusCode::kInvalidArgument);
  ExpectUntouched();
  const auto session = model_->NewSession();
  EXPECT_TRUE(session->Prefill({1, 2}, {}, never).ok());
  EXPECT_EQ(calls, 2);
}

// Every place of the context can be used, and none behind it.
TEST_P(Refusals, BehindTheContextLimit) {
  const int limit = model_->context_limit();
  const auto session = model_->NewSession();
  const std::vector<TokenId> most(static_cast<std::size_t>(limit - 2), 1);
  ASSERT_TRUE(session->Prefill(most).ok());
  const TokenBatch three = ChainAfter(*session, {1, 2, 3});
  const auto refused = ScoreOne(*model_, *session, three);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(refused.status().message(),
              testing::HasSubstr(std::to_string(limit)));
  EXPECT_EQ(session->pending(), 0);
  const TokenBatch two = ChainAfter(*session, {1, 2});
  ASSERT_TRUE(ScoreOne(*model_, *session, two).ok());
  EXPECT_EQ(ScoreOne(*model_, *session, {{3}, {limit}, {1}}).status().code(),
            absl::StatusCode::kOutOfRange);
  ASSERT_TRUE(session->Commit({0, 1}).ok());
  EXPECT_EQ(session->length(), limit);
  EXPECT_FALSE(ScoreOne(*model_, *session, ChainAfter(*session, {1})).ok());
  EXPECT_FALSE(session->Prefill({1}).ok());
  EXPECT_TRUE(session->Prefill({}).ok());
  EXPECT_EQ(session->length(), limit);
}

INSTANTIATE_TEST_SUITE_P(All, Refusals, testing::ValuesIn(GoldenNames()),
                         [](const auto& row) { return row.param; });

// The rows that only pad the vocabulary can be read but not be said.
TEST(UsedVocab, MasksThePaddingAndNothingElse) {
  const auto backend = Backends().front();
  for (const std::string& name : GoldenNames())
    for (WeightFormat format : {WeightFormat::kF32, WeightFormat::kQ8}) {
      const auto checkpoint = Checkpoint::Open(GoldenFolder(name));
      ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
      const auto whole = LoadGolden(name, backend, format);
      const int vocab = whole->vocab_size();
      Oracle oracle(*whole);
      for (int used : {0, 1, 16, vocab - 1, vocab}) {
        const auto model = Transformer::Load(
            **checkpoint, {.format = format, .used_vocab = used}, backend);
        ASSERT_TRUE(model.ok()) << model.status();
        EXPECT_EQ((*model)->vocab_size(), vocab);
        Walk walk(**model);
        const auto scores =
            walk.Score(ChainAfter(walk.session(), {1, vocab - 1, 3}));
        for (int row = 0; row < 3; ++row) {
          Logits expected = oracle.After(walk.Text(row));
          for (int i = used == 0 ? vocab : used; i < vocab; ++i)
            expected[static_cast<std::size_t>(i)] =
                -std::numeric_limits<double>::infinity();
          EXPECT_TRUE(SameBits(MustRead(*scores, row), expected))
              << name << ", " << used << " used";
        }
      }
      for (int used : {-1, vocab + 1}) {
        const auto model = Transformer::Load(
            **checkpoint, {.format = format, .used_vocab = used}, backend);
        EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument);
        EXPECT_THAT(model.status().message(),
                    testing::HasSubstr(std::to_string(used)));
      }
    }
}

}  // namespace
}  // namespace banyan
