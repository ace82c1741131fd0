// What is recorded of time, on a device whose work is done after the calls that
// ask for it: every time is of finished work.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/small_models/small_model/small_model.h"
#include "experiments/texts/generation.h"
#include "experiments/texts/token_stream.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"

namespace banyan {
namespace {

// Time passes here alone: work takes its time when somebody waits for it.
class LateDevice : public Clock {
 public:
  std::int64_t NowNs() const override { return now_; }
  void Enqueue(std::int64_t ns) { left_ += ns; }
  void Wait() { now_ += std::exchange(left_, 0); }

  std::int64_t reading = 0;  // a row

 private:
  std::int64_t now_ = 0;
  std::int64_t left_ = 0;
};

class LateScores : public Scores {
 public:
  LateScores(std::unique_ptr<Scores> scores, LateDevice& device)
      : scores_(std::move(scores)), device_(device) {}

  int vocab_size() const override { return scores_->vocab_size(); }
  absl::Status Read(int row, std::vector<double>& logits) const override {
    device_.Enqueue(device_.reading);
    device_.Wait();
    return scores_->Read(row, logits);
  }

 private:
  std::unique_ptr<Scores> scores_;
  LateDevice& device_;
};

// Nanoseconds: of a prompt, of a pass, and of a sequence's commit.
struct Costs {
  std::int64_t prefill;
  std::int64_t pass;
  std::int64_t commit;
};

class LateSession : public Session {
 public:
  LateSession(std::unique_ptr<Session> table, const Costs& costs,
              LateDevice& device)
      : table_(std::move(table)), costs_(costs), device_(device) {}

  int length() const override { return table_->length(); }
  int pending() const override { return table_->pending(); }
  absl::Status Prefill(absl::Span<const TokenId> tokens,
                       absl::Span<const int> taps, FeatureSink sink) override {
    device_.Enqueue(costs_.prefill);
    return table_->Prefill(tokens, taps, sink);
  }
  absl::Status Commit(absl::Span<const int> path) override {
    if (!path.empty()) device_.Enqueue(costs_.commit);
    return table_->Commit(path);
  }

  Session* table() const { return table_.get(); }

 private:
  std::unique_ptr<Session> table_;
  Costs costs_;
  LateDevice& device_;
};

class LateModel : public Model {
 public:
  LateModel(std::shared_ptr<TableModel> table, const Costs& costs,
            LateDevice& device)
      : Model(table->shape()),
        table_(std::move(table)),
        costs_(costs),
        device_(device) {}

  std::unique_ptr<Session> NewSession() const override {
    return std::make_unique<LateSession>(table_->NewSession(), costs_, device_);
  }
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override {
    device_.Enqueue(costs_.pass);
    std::vector<ScoreRequest> inner(requests.begin(), requests.end());
    for (ScoreRequest& request : inner)
      request.session = static_cast<LateSession*>(request.session)->table();
    BANYAN_ASSIGN_OR_RETURN(auto scores, table_->Score(inner));
    for (auto& each : scores)
      each = std::make_unique<LateScores>(std::move(each), device_);
    return scores;
  }
  absl::Status Finish() const override {
    device_.Wait();
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<TableModel> table_;
  Costs costs_;
  LateDevice& device_;
};

constexpr Costs kTarget = {.prefill = 100'000, .pass = 10'000, .commit = 1'000};
constexpr Costs kDraft = {.prefill = 100, .pass = 10, .commit = 1};
constexpr std::int64_t kPrefill = kTarget.prefill + kDraft.prefill;
constexpr std::int64_t kDrafting = 2 * kDraft.pass;  // a chain of two
constexpr std::int64_t kCommit = kTarget.commit + kDraft.commit;

constexpr int kVocab = 5;  // and a begin token

StopRule Stop() { return {.max_new_tokens = 9}; }

// A target and a drafting model on one device, whose clock is the decoder's.
class FinishedWork : public testing::Test {
 protected:
  Decoder NewDecoder() {
    std::vector<Trunk> trunks;
    trunks.push_back(
        TrunkOf(std::make_unique<SmallModel>(draft_, SamplingRule()),
                "chain {nodes: 2}"));
    return Decoder::Create(target_,
                           {.verifier_name = "multi_round",
                            .verifier = VerifierOf("multi_round"),
                            .trunks = std::move(trunks),
                            .rule = SamplingRule()},
                           device_)
        .value();
  }

  const std::shared_ptr<LateDevice> device_ = std::make_shared<LateDevice>();
  const LateModel target_{Toy({.vocab_size = kVocab}), kTarget, *device_};
  const std::shared_ptr<LateModel> draft_ = std::make_shared<LateModel>(
      Toy({.vocab_size = kVocab, .seed = 1}), kDraft, *device_);
};

// Holds every time it hears against what the work takes.
class TimeListener : public BatchListener {
 public:
  void Admitted(std::size_t /*prompt*/, std::int64_t /*at_ns*/,
                std::int64_t prefill_ns) override {
    EXPECT_EQ(prefill_ns, kPrefill);
  }
  void Round(std::size_t /*prompt*/, const RoundRecord& round) override {
    EXPECT_EQ(round.times.draft_ns, std::vector<std::int64_t>({kDrafting}));
    EXPECT_EQ(round.times.derive_ns, 0);
    EXPECT_EQ(round.times.target_ns, kTarget.pass);
    EXPECT_EQ(round.times.verify_ns, 0);
    EXPECT_EQ(round.times.commit_ns, round.sequences * kCommit);
    ++rounds[round.sequences];
  }
  void Ended(std::size_t /*prompt*/, StopReason /*reason*/, std::int64_t at_ns,
             const Lesson& /*lesson*/) override {
    ended = at_ns;
  }

  std::map<int, int> rounds;  // by how many shared them
  std::int64_t ended = 0;     // the last prompt
};

TEST_F(FinishedWork, IsWhatTheTimesOfABatchAreOf) {
  Decoder decoder = NewDecoder();
  SeededSource random(0);
  TimeListener listener;
  const absl::Status status = DecodeBatch(decoder,
                                          {{.id = 0, .tokens = {kVocab, 1, 2}},
                                           {.id = 1, .tokens = {kVocab, 3}},
                                           {.id = 2, .tokens = {kVocab, 0}}},
                                          Stop(), 2, random, listener);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(listener.rounds[1], 0);
  EXPECT_GT(listener.rounds[2], 0);
  EXPECT_EQ(listener.ended, device_->NowNs()) << "all that was done is told";
}

TEST_F(FinishedWork, IsWhatTheTimesOfAGenerationAreOf) {
  Decoder decoder = NewDecoder();
  SeededSource random(0);
  TokenStream stream({});
  const absl::StatusOr<Generation> generation =
      Generate(decoder,
               {.prompt = {.tokens = {kVocab, 1, 2}},
                .stop = Stop(),
                .random = random,
                .clock = *device_},
               stream);
  ASSERT_TRUE(generation.ok()) << generation.status();
  const auto rounds = static_cast<std::int64_t>(generation->rounds.size());
  const PhaseTotals& times = generation->times;
  EXPECT_EQ(times.prefill_ns, kPrefill);
  EXPECT_EQ(times.draft_ns, rounds * kDrafting);
  EXPECT_EQ(times.target_ns, rounds * kTarget.pass);
  EXPECT_EQ(times.commit_ns, rounds * kCommit);
  EXPECT_EQ(times.prefill_ns + times.RoundsNs(), device_->NowNs());
}

TEST_F(FinishedWork, OfARoundIsNotWhatTheTargetIsAskedForTheRecord) {
  Decoder decoder = NewDecoder();
  decoder.KeepFacts();
  device_->reading = 1'000'000;
  SeededSource random(0);
  absl::StatusOr<Sequence> sequence =
      decoder.Begin({.tokens = {kVocab, 1, 2}}, Stop());
  ASSERT_TRUE(sequence.ok()) << sequence.status();
  ASSERT_TRUE(target_.Finish().ok());
  int rounds = 0;
  for (; sequence->stopped == StopReason::kNone; ++rounds) {
    const absl::StatusOr<RoundRecord> round = decoder.Step(*sequence, random);
    ASSERT_TRUE(round.ok()) << round.status();
    const PhaseTimes& times = round->times;
    const auto rows = static_cast<int>(round->verdict.path.size()) + 1;
    EXPECT_EQ(times.draft_ns,
              std::vector<std::int64_t>({kDrafting + 2 * device_->reading}));
    EXPECT_EQ(times.target_ns, kTarget.pass);
    EXPECT_EQ(times.verify_ns, rows * device_->reading);
    EXPECT_EQ(times.commit_ns, kCommit);
  }
  EXPECT_GT(rounds, 1);
}

}  // namespace
}  // namespace banyan
