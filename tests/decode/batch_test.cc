// Prompts decoded together: every one as if it were alone, in shared passes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "drafters/heads/medusa/heads.h"
#include "drafters/heads/medusa/medusa.h"
#include "drafters/small_models/small_model/small_model.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/any_lesson.h"
#include "tests/support/decoding.h"
#include "tests/support/decorated.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr int kVocab = 5;  // and a begin token

// What was heard of one prompt.
struct Heard {
  std::vector<TokenId> tokens;
  std::vector<std::string> trees;
  StopReason reason = StopReason::kNone;
  std::int64_t admitted = -1, prefill = -1, ended = -1;
};

class Notes : public BatchListener {
 public:
  Notes(std::size_t prompts, int slots)
      : heard(prompts), slots_(static_cast<std::size_t>(slots)) {}

  void Admitted(std::size_t prompt, std::int64_t at_ns,
                std::int64_t prefill_ns) override {
    EXPECT_EQ(heard[prompt].admitted, -1) << "admitted twice";
    heard[prompt].admitted = at_ns;
    heard[prompt].prefill = prefill_ns;
    ++admitted_;
  }
  void Round(std::size_t prompt, const RoundRecord& round) override {
    Heard& own = heard[prompt];
    EXPECT_EQ(own.ended, -1) << "a round after the end";
    own.trees.push_back(ToText(round.tree));
    own.tokens.insert(own.tokens.end(), round.emitted.begin(),
                      round.emitted.end());
    most_sequences = std::max(most_sequences, round.sequences);
    EXPECT_EQ(round.sequences, admitted_ - static_cast<int>(order.size()));
    EXPECT_EQ(static_cast<std::size_t>(round.sequences),
              std::min(slots_, heard.size() - order.size()));
    EXPECT_GE(round.pass_tokens, round.tree.size());
    if (round.sequences == 1) {
      EXPECT_EQ(round.pass_tokens, round.tree.size());
    }
  }
  void Ended(std::size_t prompt, StopReason reason, std::int64_t at_ns,
             const Lesson& /*lesson*/) override {
    heard[prompt].reason = reason;
    heard[prompt].ended = at_ns;
    order.push_back(prompt);
  }

  std::vector<Heard> heard;
  std::vector<std::size_t> order;  // in which they ended
  int most_sequences = 0;          // of a round

 private:
  std::size_t slots_;
  int admitted_ = 0;
};

// Prompts of one to four tokens.
std::vector<Prompt> Prompts(std::size_t count) {
  std::vector<Prompt> prompts;
  for (std::size_t i = 0; i < count; ++i) {
    Prompt prompt = {.id = static_cast<std::uint32_t>(i), .tokens = {kVocab}};
    for (std::size_t j = 0; j < i % 4; ++j)
      prompt.tokens.push_back(static_cast<TokenId>((i + j) % kVocab));
    prompts.push_back(prompt);
  }
  return prompts;
}

// Ends of text come at different times.
StopRule Stop() { return {.end_of_text = {4}, .max_new_tokens = 24}; }

Notes MustDecodeBatch(Decoder& decoder, const std::vector<Prompt>& prompts,
                      int slots, const StopRule& stop = Stop()) {
  Notes notes(prompts.size(), slots);
  SeededSource random(0);
  const absl::Status status =
      DecodeBatch(decoder, prompts, stop, slots, random, notes);
  EXPECT_TRUE(status.ok()) << status;
  return notes;
}

std::shared_ptr<TableModel> Drafting(int seed) {
  return Toy({.vocab_size = kVocab, .seed = seed, .sharpness = 1});
}

TEST(Batch, GivesEveryPromptItsTreesAndTokensAlone) {
  const std::vector<Prompt> prompts = Prompts(9);
  const std::vector<std::string> policies = {
      "chain {nodes: 3}", "expansion {branching: [2, 2, 1]}",
      "best_first {most_draws: 4}",
      "adaptive_chain {nodes: 2, threshold: 0, adjust: true}"};
  int compared = 0;
  for (const std::string& policy : policies)
    for (double temperature : {0.0, 1.0}) {
      const Pairing pairing = {
          .target = Toy({.vocab_size = kVocab}),
          .verifier = "multi_round",
          .trunks = {{policy, Drafting(1)}, {"chain {nodes: 2}", Drafting(2)}},
          .sampling = {.temperature = temperature}};
      absl::StatusOr<Decoder> decoder = Build(pairing);
      ASSERT_TRUE(decoder.ok()) << decoder.status();
      for (int slots : {1, 2, 3, 8}) {
        SCOPED_TRACE(absl::StrCat(Describe(pairing), ", slots ", slots));
        const Notes notes = MustDecodeBatch(*decoder, prompts, slots);
        for (std::size_t i = 0; i < prompts.size(); ++i) {
          const Decoded alone = MustDecode(pairing, prompts[i], Stop());
          EXPECT_EQ(notes.heard[i].tokens, alone.tokens) << "prompt " << i;
          std::vector<std::string> trees;
          for (const RoundRecord& round : alone.rounds)
            trees.push_back(ToText(round.tree));
          EXPECT_EQ(notes.heard[i].trees, trees) << "prompt " << i;
          EXPECT_EQ(notes.heard[i].reason, alone.stopped) << "prompt " << i;
          ++compared;
        }
      }
    }
  EXPECT_EQ(compared, 4 * 2 * 4 * 9);
}

TEST(Batch, KeepsItsPlacesFull) {
  const std::vector<Prompt> prompts = Prompts(9);
  const auto target = Toy({.vocab_size = kVocab});
  absl::StatusOr<Decoder> decoder =
      Build({.target = target, .verifier = "match"});
  ASSERT_TRUE(decoder.ok());
  for (int slots : {1, 3, 9, 12}) {
    const Notes notes = MustDecodeBatch(*decoder, prompts, slots);
    EXPECT_EQ(notes.order.size(), prompts.size());
    // Held by every round: as many sequences as there are places or prompts.
    EXPECT_EQ(notes.most_sequences, std::min(slots, 9));
    for (std::size_t i = 0; i < prompts.size(); ++i)
      EXPECT_EQ(notes.heard[i].admitted == 0, i == 0) << "prefills take time";
  }
}

// Every look at it is one nanosecond later.
class Ticks : public Clock {
 public:
  std::int64_t NowNs() const override { return ++now_; }

 private:
  mutable std::int64_t now_ = 0;
};

TEST(Batch, TellsTimesOfPrefillsAndRoundsAlone) {
  const auto target = Toy({.vocab_size = kVocab});
  absl::StatusOr<Decoder> decoder =
      Decoder::Create(*target,
                      {.verifier_name = "match",
                       .verifier = VerifierOf("match"),
                       .trunks = {},
                       .rule = SamplingRule()},
                      std::make_shared<Ticks>());
  ASSERT_TRUE(decoder.ok());
  const std::vector<Prompt> prompts = Prompts(3);
  const StopRule stop = {.max_new_tokens = 4};
  const Notes notes = MustDecodeBatch(*decoder, prompts, 2, stop);
  // A prefill is one tick; a plain round of two looks at the clock once for
  // deriving, scoring and committing each, and twice for each verdict.
  const std::int64_t both = 3 + 2, alone = 3 + 1;
  EXPECT_EQ(notes.heard[0].admitted, 0);
  EXPECT_EQ(notes.heard[1].admitted, 1);
  EXPECT_EQ(notes.heard[0].ended, 2 + 4 * both);
  EXPECT_EQ(notes.heard[1].ended, 2 + 4 * both);
  EXPECT_EQ(notes.heard[2].admitted, 2 + 4 * both);
  EXPECT_EQ(notes.heard[2].ended, 3 + 4 * both + 4 * alone);
}

// Passes its calls on, and counts them.
class CountedModel : public Model {
 public:
  explicit CountedModel(std::shared_ptr<TableModel> model)
      : Model(model->shape()), model_(std::move(model)) {}

  std::unique_ptr<Session> NewSession() const override {
    return model_->NewSession();
  }
  absl::StatusOr<std::vector<std::unique_ptr<Scores>>> Score(
      absl::Span<const ScoreRequest> requests) const override {
    sequences.push_back(requests.size());
    return model_->Score(requests);
  }

  mutable std::vector<std::size_t> sequences;  // of each pass

 private:
  std::shared_ptr<TableModel> model_;
};

// Of each prompt.
std::vector<std::size_t> RoundsOf(const Notes& notes) {
  std::vector<std::size_t> rounds;
  for (const Heard& heard : notes.heard) rounds.push_back(heard.trees.size());
  return rounds;
}

std::size_t Sum(const std::vector<std::size_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::size_t{0});
}

TEST(Batch, SharesThePassesOfTargetAndDrafters) {
  const CountedModel target(Toy({.vocab_size = kVocab}));
  const auto draft = std::make_shared<CountedModel>(Drafting(1));
  std::vector<Trunk> trunks;
  trunks.push_back(TrunkOf(std::make_unique<SmallModel>(draft, SamplingRule()),
                           "expansion {branching: [2, 2, 1]}"));
  absl::StatusOr<Decoder> decoder =
      WithTrunks(target, "multi_round", std::move(trunks));
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  constexpr std::size_t kPrompts = 4;
  const std::vector<Prompt> prompts = Prompts(kPrompts);
  const Notes notes =
      MustDecodeBatch(*decoder, prompts, kPrompts, {.max_new_tokens = 30});
  const std::vector<std::size_t> rounds = RoundsOf(notes);
  const std::size_t most = *std::max_element(rounds.begin(), rounds.end());
  ASSERT_EQ(target.sequences.size(), most) << "a pass a round";
  EXPECT_EQ(draft->sequences.size(), 3 * most) << "a pass a level";
  EXPECT_EQ(Sum(target.sequences), Sum(rounds));
  for (std::size_t level = 0; level < 3; ++level)
    EXPECT_EQ(draft->sequences[level], kPrompts);
}

// Two heads to which all tokens are alike, and how often they are asked.
class CountedHeads : public MedusaHeads {
 public:
  int count() const override { return 2; }
  absl::Status Score(absl::Span<const float> /*hidden*/,
                     std::vector<std::vector<double>>& logits) const override {
    states.push_back(1);
    logits = Alike();
    return absl::OkStatus();
  }
  absl::Status ScoreAll(
      absl::Span<const absl::Span<const float>> hidden,
      std::vector<std::vector<std::vector<double>>>& logits) const override {
    states.push_back(hidden.size());
    logits.assign(hidden.size(), Alike());
    return absl::OkStatus();
  }

  mutable std::vector<std::size_t> states;  // of each time they are asked

 private:
  std::vector<std::vector<double>> Alike() const {
    return {std::vector<double>(kVocab, 0), std::vector<double>(kVocab, 0)};
  }
};

TEST(Batch, SharesOneReadingOfMedusasHeads) {
  const auto target = WithStates(*Toy({.vocab_size = kVocab}));
  const auto heads = std::make_shared<CountedHeads>();
  std::vector<Trunk> trunks;
  trunks.push_back(TrunkOf(std::make_unique<Medusa>(heads, SamplingRule()),
                           "expansion {branching: [2, 2]}"));
  absl::StatusOr<Decoder> decoder =
      WithTrunks(*target, "multi_round", std::move(trunks));
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  constexpr std::size_t kPrompts = 4;
  const Notes notes = MustDecodeBatch(*decoder, Prompts(kPrompts), kPrompts,
                                      {.max_new_tokens = 30});
  const std::vector<std::size_t> rounds = RoundsOf(notes);
  EXPECT_EQ(heads->states.size(),
            *std::max_element(rounds.begin(), rounds.end()))
      << "once a round, whatever the levels";
  // A prompt of one token has no state before its first round.
  EXPECT_EQ(heads->states.front(), kPrompts - 1);
  EXPECT_EQ(Sum(heads->states), Sum(rounds) - 1);
}

// Tells which prompts it had taken over whenever a session was made.
class Learning : public TableDrafter, private AnyLesson {
 public:
  using Texts = std::vector<std::vector<TokenId>>;
  Learning(std::shared_ptr<TableModel> model, std::vector<Texts>& seen)
      : TableDrafter(std::move(model), this), seen_(seen) {}

  std::unique_ptr<DraftSession> NewSession() const override {
    seen_.push_back(taught_);
    return std::make_unique<Teaching>();
  }

 private:
  // Teaches its prompt.
  class Teaching : public DecoratedSession {
   public:
    absl::Status Begin(const Context& context) override {
      prompt_ = context.tokens;
      return absl::OkStatus();
    }
    std::string End() override {
      return std::string(prompt_.begin(), prompt_.end());
    }

   private:
    std::vector<TokenId> prompt_;
  };

  absl::Status Absorb(absl::Span<const TokenId> text,
                      absl::string_view learnt) override {
    taught_.emplace_back(learnt.begin(), learnt.end());
    const absl::Span<const TokenId> prompt =
        text.first(std::min(text.size(), learnt.size()));
    EXPECT_EQ(taught_.back(),
              std::vector<TokenId>(prompt.begin(), prompt.end()));
    return taught_.size() == 9 ? absl::DataLossError("nine are enough")
                               : absl::OkStatus();
  }

  std::vector<Texts>& seen_;
  Texts taught_;
};

// Whoever ends first, what is learnt comes in the order of the prompts, and a
// prompt sees what there was when it was admitted.
TEST(Batch, TeachesInTheOrderOfPrompts) {
  const auto target = Toy({.vocab_size = kVocab});
  const std::vector<Prompt> prompts = Prompts(9);
  int waited = 0;
  for (int slots : {1, 2, 4}) {
    std::vector<Learning::Texts> seen;
    std::vector<Trunk> trunks;
    trunks.push_back(
        TrunkOf(std::make_unique<Learning>(target, seen), "chain {nodes: 2}"));
    absl::StatusOr<Decoder> decoder =
        WithTrunks(*target, "multi_round", std::move(trunks));
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    seen.clear();
    Notes notes(prompts.size(), slots);
    SeededSource random(0);
    const absl::Status status =
        DecodeBatch(*decoder, prompts, Stop(), slots, random, notes);
    EXPECT_EQ(status.message(),
              "what a prompt taught drafter test drafter: nine are enough");
    ASSERT_EQ(seen.size(), prompts.size());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      std::size_t before = 0;  // all of these had ended
      while (before < i && notes.heard[before].ended <= notes.heard[i].admitted)
        ++before;
      ASSERT_EQ(seen[i].size(), before) << i << " of " << slots;
      for (std::size_t j = 0; j < before; ++j)
        EXPECT_EQ(seen[i][j], prompts[j].tokens);
      for (std::size_t j = before; j < i; ++j)
        waited +=
            static_cast<int>(notes.heard[j].ended <= notes.heard[i].admitted);
    }
  }
  EXPECT_GT(waited, 0) << "no prompt ended before one that began earlier";
}

// Cannot observe the rounds of one prompt from the second on.
class Forgetful : public TableDrafter {
 public:
  using TableDrafter::TableDrafter;

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<Forgetting>();
  }

 private:
  class Forgetting : public DecoratedSession {
   public:
    absl::Status Observe(const Context& context,
                         const RoundOutcome& /*outcome*/) override {
      return context.prompt == 1 && ++rounds_ == 2
                 ? absl::DataLossError("a torn index")
                 : absl::OkStatus();
    }

   private:
    int rounds_ = 0;
  };
};

Decoder ForgetfulDecoder(const std::shared_ptr<TableModel>& target) {
  std::vector<Trunk> trunks;
  trunks.push_back(
      TrunkOf(std::make_unique<Forgetful>(target), "chain {nodes: 1}"));
  return WithTrunks(*target, "multi_round", std::move(trunks)).value();
}

// The round is committed: who cannot follow it has failed, alone.
TEST(Batch, KeepsTheRoundsOfTheOthersWhereOneFailsAfterItsCommit) {
  const auto target = Toy({.vocab_size = kVocab});
  Decoder decoder = ForgetfulDecoder(target);
  std::vector<Sequence> sequences;
  std::vector<Sequence*> all;
  for (const Prompt& prompt : Prompts(3))
    sequences.push_back(*decoder.Begin(prompt, {.max_new_tokens = 24}));
  for (Sequence& sequence : sequences) all.push_back(&sequence);
  SeededSource random(0);
  ASSERT_TRUE(decoder.StepAll(all, random).ok());
  const auto records = decoder.StepAll(all, random);
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ((*records)[1].status().message(), "a torn index");
  for (std::size_t i : {0, 2}) {
    ASSERT_TRUE((*records)[i].ok()) << (*records)[i].status();
    EXPECT_FALSE((*records)[i]->emitted.empty());
    EXPECT_EQ((*records)[i]->sequences, 3);
    EXPECT_TRUE(decoder.Step(sequences[i], random).ok());
  }
  EXPECT_EQ(decoder.Step(sequences[1], random).status().message(),
            "a torn index")
      << "its drafter has missed a round";
  EXPECT_FALSE(decoder.StepAll(all, random).ok());
}

TEST(Batch, TellsTheRoundsOfTheOthersWhereOneFails) {
  const auto target = Toy({.vocab_size = kVocab});
  Decoder decoder = ForgetfulDecoder(target);
  const std::vector<Prompt> prompts = Prompts(3);
  Notes notes(prompts.size(), 3);
  SeededSource random(0);
  EXPECT_EQ(
      DecodeBatch(decoder, prompts, {.max_new_tokens = 24}, 3, random, notes)
          .message(),
      "a torn index");
  EXPECT_EQ(notes.heard[0].trees.size(), 2U);
  EXPECT_EQ(notes.heard[1].trees.size(), 1U);
  EXPECT_EQ(notes.heard[2].trees.size(), 2U);
}

TEST(Batch, FailsAsItsPromptsDo) {
  const auto target = Toy({.vocab_size = kVocab});
  absl::StatusOr<Decoder> decoder =
      Build({.target = target, .verifier = "match"});
  ASSERT_TRUE(decoder.ok());
  std::vector<Prompt> prompts = Prompts(3);
  prompts[1].tokens.clear();
  Notes notes(prompts.size(), 2);
  SeededSource random(0);
  EXPECT_EQ(DecodeBatch(*decoder, prompts, Stop(), 2, random, notes).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Batch, EndsAtOnceWhereNothingMayBeSaid) {
  const auto target = Toy({.vocab_size = kVocab});
  absl::StatusOr<Decoder> decoder =
      Build({.target = target, .verifier = "match"});
  ASSERT_TRUE(decoder.ok());
  const std::vector<Prompt> prompts = Prompts(5);
  const Notes notes =
      MustDecodeBatch(*decoder, prompts, 2, {.max_new_tokens = 0});
  EXPECT_EQ(notes.order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  for (const Heard& heard : notes.heard) {
    EXPECT_TRUE(heard.tokens.empty());
    EXPECT_EQ(heard.reason, StopReason::kLength);
  }
}

}  // namespace
}  // namespace banyan
