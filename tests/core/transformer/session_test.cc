// What a transformer and its sessions refuse, and that refusing changes
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/checkpoint/checkpoint.h"
#include "core/model/model.h"
#include "core/ops/backend.h"
#include "core/ops/op_args.h"
#include "core/ops/reference/reference_backend.h"
#include "core/ops/weight.h"
#include "core/transformer/transformer.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/dice.h"
#include "tests/support/host_part.h"
#include "tests/support/made/edited_model.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"
#include "tests/support/tight_device.h"

namespace banyan {
namespace {

constexpr int kNone = TokenBatch::kCommitted;

class Refusals : public testing::TestWithParam<GoldenOnDevice> {
 protected:
  Refusals() {
    Dice dice(1);
    for (Walk* walk : {&walk_, &other_}) {
      walk->Prefill(RandomText(*model_, 6, dice));
      walk->Score(walk->RandomBatch(5, dice));
    }
    position_ = walk_.session().length();
  }
  void SetUp() override {
    if (GetParam().LeftOut()) GTEST_SKIP() << kHostLeftOut;
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
      ExpectFaithful(*scores, first, 3, *walk, oracle_, GetParam().ToText());
    }
  }

  std::shared_ptr<Backend> backend_ = BackendOf(GetParam().device);
  std::unique_ptr<Transformer> model_ = LoadGolden(GetParam().golden, backend_);
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

TEST_P(Refusals, OfShiftsToNoPosition) {
  TokenBatch batch = {{1}, {position_}, {kNone}};
  batch.shift = 1;
  ExpectRefused(batch, "position");
  batch = {{1}, {-1}, {kNone}, -position_ - 1};
  ExpectRefused(batch, "position -1");
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
  const auto stranger = LoadGolden(GetParam().golden, backend_);
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

// Every place of the context can be used, and none after it.
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

INSTANTIATE_TEST_SUITE_P(All, Refusals, testing::ValuesIn(GoldensOnDevices()),
                         [](const auto& row) { return row.param.ToText(); });

// Logits after the second of two tokens, which stands `shift` further than it
// would, at angles `factor` times smaller.
Logits AfterShift(double factor, int shift, bool committed) {
  const EditedModel edited(GoldenFolder("llama"));
  edited.folder().Write(
      "config.json",
      absl::StrReplaceAll(edited.folder().Read("config.json"),
                          {{"\"rope_type\": \"default\"",
                            absl::StrCat("\"rope_type\": \"linear\", ",
                                         "\"factor\": ", factor)}}));
  const auto model = LoadModel(edited.path(), Backends().front());
  const std::unique_ptr<Session> session = model->NewSession();
  const TokenBatch first = TokenBatch::Chain({5}, 0);
  EXPECT_TRUE(ScoreOne(*model, *session, first).ok());
  if (committed) {
    EXPECT_TRUE(session->Commit({0}).ok());
  }
  const TokenBatch second = {{7}, {1 + shift}, {committed ? kNone : 0}, shift};
  const auto scores = ScoreOne(*model, *session, second);
  Check(scores.ok(), scores.status().message());
  return MustRead(**scores, 0);
}

// An angle is the position times a frequency: twice the one is as good as twice
// the other, to the last bit.
TEST(ShiftedRows, StandWhereTheShiftSays) {
  constexpr double kEndless = 1e60;  // every angle is 0
  for (const bool committed : {false, true}) {
    EXPECT_TRUE(
        SameBits(AfterShift(2, 1, committed), AfterShift(1, 0, committed)));
    EXPECT_TRUE(SameBits(AfterShift(1, -1, committed),
                         AfterShift(kEndless, 0, committed)));
    EXPECT_FALSE(
        SameBits(AfterShift(1, 1, committed), AfterShift(1, 0, committed)));
  }
}

// The rows that only pad the vocabulary can be read but not be said.
class UsedVocab : public testing::TestWithParam<GoldenOnDevice> {};

TEST_P(UsedVocab, MasksThePaddingAndNothingElse) {
  if (GetParam().LeftOut()) GTEST_SKIP() << kHostLeftOut;
  const std::string& name = GetParam().golden;
  const auto backend = BackendOf(GetParam().device);
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

INSTANTIATE_TEST_SUITE_P(All, UsedVocab, testing::ValuesIn(GoldensOnDevices()),
                         [](const auto& row) { return row.param.ToText(); });

// A batch so large that every layer's cache must grow: wherever memory ends,
// the session is as it was, and with room the call gives what it would have
// given.
TEST(OutOfMemory, InAPassLeavesTheSessionAsItWas) {
  constexpr int kRows = 540;
  TightDevice device;
  const auto model = LoadGolden("llama", device.backend());
  const auto fresh = LoadGolden("llama", BackendOf("emulated_gpu"));
  Oracle oracle(*fresh);
  Dice dice(3);
  Walk walk(*model);
  walk.Prefill(RandomText(*model, 6, dice));
  walk.Score(walk.RandomBatch(5, dice));
  TokenBatch batch;
  for (int i = 0; i < kRows; ++i) batch.Add(i % model->vocab_size(), 6, kNone);
  std::size_t limit = device.used();
  device.Limit(limit);
  auto scores = ScoreOne(*model, walk.session(), batch);
  int refused = 0;
  for (; !scores.ok() && refused < 100;
       scores = ScoreOne(*model, walk.session(), batch)) {
    ++refused;
    EXPECT_EQ(walk.session().length(), 6);
    EXPECT_EQ(walk.session().pending(), 5);
    limit += TightDevice::Missing(scores.status());
    device.Limit(limit);
  }
  ASSERT_TRUE(scores.ok()) << scores.status();
  // Two caches of each of two layers, at least.
  EXPECT_GT(refused, 4);
  device.Limit(TightDevice::kMemory);
  walk.Note(batch);
  for (int row : {0, 1, 300, kRows - 1})
    EXPECT_TRUE(
        SameBits(MustRead(**scores, row), oracle.After(walk.Text(5 + row))))
        << row;
  walk.Commit({5 + 300});
  const TokenBatch next = walk.RandomBatch(2, dice);
  const auto after = walk.Score(next);
  ExpectFaithful(*after, 0, 2, walk, oracle, "after it");
}

// A device that is lost while the caches are changed.
class Lost : public ReferenceBackend {
 public:
  absl::Status MoveKv(const MoveKvArgs& args) override {
    return --moves_left < 0 ? absl::UnavailableError("the device is lost")
                            : ReferenceBackend::MoveKv(args);
  }
  int moves_left = std::numeric_limits<int>::max();
};

// Layers before the one that failed hold other pending rows now: none is left.
TEST(Commit, ThatFailsUnderwayKeepsTheCommittedTextAlone) {
  const auto backend = std::make_shared<Lost>();
  const auto model = LoadGolden("llama", backend);
  Oracle oracle(*model);
  Dice dice(3);
  Walk walk(*model);
  walk.Prefill(RandomText(*model, 6, dice));
  walk.Score({{1, 2, 3}, {6, 6, 7}, {kNone, kNone, 1}});
  backend->moves_left = 1;
  EXPECT_EQ(walk.session().Commit({1, 2}),
            absl::UnavailableError("the device is lost"));
  backend->moves_left = std::numeric_limits<int>::max();
  EXPECT_EQ(walk.session().length(), 6);
  EXPECT_EQ(walk.session().pending(), 0);
  walk.Commit({});
  const auto scores = walk.Score({{1, 2}, {6, 6}, {kNone, kNone}});
  ExpectFaithful(*scores, 0, 2, walk, oracle, "after the loss");
}

}  // namespace
}  // namespace banyan
