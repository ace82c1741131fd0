// What carries over from prompt to prompt and from round to round: nothing that
// should not.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "drafters/text/ngram/ngram.h"
#include "drafters/text/suffix/suffix.h"
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

// Tokens and trees of every round: what a record would hold.
std::vector<std::string> Traces(const Decoded& decoded) {
  std::vector<std::string> traces;
  for (const RoundRecord& round : decoded.rounds)
    traces.push_back(ToText(round.tree));
  for (TokenId token : decoded.tokens) traces.push_back(std::to_string(token));
  return traces;
}

// Remembers what its sessions were told.
class Listener : public TableDrafter {
 public:
  struct Heard {
    int trunk;
    std::vector<TokenId> text;
  };
  Listener(std::shared_ptr<TableModel> model, std::vector<Heard>& heard)
      : TableDrafter(std::move(model)), heard_(heard) {}

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<Told>(heard_);
  }

 private:
  class Told : public DecoratedSession {
   public:
    explicit Told(std::vector<Heard>& heard) : heard_(heard) {}
    absl::Status Observe(const Context& context,
                         const RoundOutcome& outcome) override {
      heard_.push_back({outcome.trunk, context.tokens});
      return absl::OkStatus();
    }

   private:
    std::vector<Heard>& heard_;
  };

  std::vector<Heard>& heard_;
};

TEST(Rounds, EndWithEveryTrunkBeingTold) {
  const auto target = Toy({.vocab_size = 5});
  std::vector<Listener::Heard> heard;
  std::vector<Trunk> trunks;
  for (const char* policy :
       {"adaptive_chain {nodes: 1, threshold: 0, adjust: true}",
        "chain {nodes: 1}"})
    trunks.push_back(
        TrunkOf(std::make_unique<Listener>(target, heard), policy));
  Decoder decoder =
      WithTrunks(*target, "multi_round", std::move(trunks)).value();
  const Decoded decoded =
      MustDecode(decoder, {.tokens = {5}}, {.max_new_tokens = 15});
  ASSERT_EQ(heard.size(), 2 * decoded.rounds.size());
  std::vector<TokenId> text = {5};
  for (std::size_t round = 0; round < decoded.rounds.size(); ++round) {
    const std::vector<TokenId>& emitted = decoded.rounds[round].emitted;
    text.insert(text.end(), emitted.begin(), emitted.end());
    for (std::size_t trunk = 0; trunk < 2; ++trunk) {
      const Listener::Heard& told = heard[2 * round + trunk];
      EXPECT_EQ(told.trunk, static_cast<int>(trunk));
      EXPECT_EQ(told.text, text) << "what was committed, cut and all";
    }
    // The target drafts for itself: every chain is kept and the next is longer.
    EXPECT_EQ(decoded.rounds[round].tree.Height(),
              1 + 2 * static_cast<int>(round));
  }
}

// Field pitfall 19.
TEST(Prompts, TheirOrderChangesNothing) {
  const Pairing pairing = {
      .target = Toy({.vocab_size = 5}),
      .verifier = "multi_round",
      .trunks = {
          {"adaptive_chain {nodes: 2, threshold: 0, adjust: true}",
           Toy({.vocab_size = 5, .sharpness = 1})},
          {"best_first {most_draws: 3}", Toy({.vocab_size = 5, .seed = 3})}}};
  absl::StatusOr<Decoder> decoder = Build(pairing);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  const auto decode = [&decoder](std::uint32_t id) {
    return Traces(MustDecode(
        *decoder, {.id = id, .tokens = {5, static_cast<TokenId>(id % 5)}},
        {.max_new_tokens = 40}, 1));
  };
  std::vector<std::vector<std::string>> forth, back;
  for (std::uint32_t id = 0; id < 6; ++id) forth.push_back(decode(id));
  for (std::uint32_t id = 6; id > 0; --id) back.push_back(decode(id - 1));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(forth[i], back[5 - i]);
  EXPECT_NE(forth[0], forth[5]) << "prompts share randomness";
}

// Drafts by what followed each token of the prompt or, with `carries`, of all
// prompts.
Decoder Counting(const TableModel& target, bool carries) {
  std::vector<Trunk> trunks;
  trunks.push_back(
      TrunkOf(std::make_unique<NGram>(target.vocab_size(),
                                      NGramOptions{.keep_counts = carries},
                                      SamplingRule()),
              "chain {nodes: 2}"));
  return WithTrunks(target, "multi_round", std::move(trunks)).value();
}

TEST(Prompts, TeachTheNextWhereADrafterCarriesState) {
  // Says 0 1 2 3 0 1 2 3 ... from wherever it begins.
  const TableModel target = TableModel::Bigram(
      {1, 0, 0, 0}, {{0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}});
  const Prompt first = {.id = 0, .tokens = {0}};
  const Prompt second = {.id = 1, .tokens = {2}};
  const StopRule stop = {.max_new_tokens = 8};
  for (bool carries : {false, true}) {
    Decoder fresh = Counting(target, carries);
    const auto alone = Traces(MustDecode(fresh, second, stop));
    EXPECT_EQ(alone.front(), "2") << "nothing has followed 2 yet";
    Decoder decoder = Counting(target, carries);
    MustDecode(decoder, first, stop);
    const auto after = Traces(MustDecode(decoder, second, stop));
    EXPECT_EQ(after.front(), carries ? "2(3(0))" : "2");
    EXPECT_EQ(after == alone, !carries);
  }
}

// Counts how often it takes over what a prompt taught.
class Absorbing : public TableDrafter, private AnyLesson {
 public:
  Absorbing(std::shared_ptr<TableModel> model, int& absorbed)
      : TableDrafter(std::move(model), this), absorbed_(absorbed) {}

  std::unique_ptr<DraftSession> NewSession() const override {
    return std::make_unique<Teaching>();
  }

 private:
  class Teaching : public DecoratedSession {
   public:
    std::string End() override { return "learnt"; }
  };

  absl::Status Absorb(absl::Span<const TokenId> text,
                      absl::string_view learnt) override {
    EXPECT_EQ(learnt, "learnt");
    EXPECT_GE(text.size(), 2 + 9);
    ++absorbed_;
    return absl::OkStatus();
  }

  int& absorbed_;
};

TEST(Prompts, TeachOnceWhenTheyEnd) {
  const auto target = Toy({.vocab_size = 5});
  int absorbed = 0;
  std::vector<Trunk> trunks;
  trunks.push_back(TrunkOf(std::make_unique<Absorbing>(target, absorbed),
                           "chain {nodes: 1}"));
  Decoder decoder =
      WithTrunks(*target, "multi_round", std::move(trunks)).value();
  SeededSource random(1);
  absl::StatusOr<Sequence> sequence =
      decoder.Begin({.tokens = {5, 2}}, {.max_new_tokens = 9});
  ASSERT_TRUE(sequence.ok()) << sequence.status();
  int rounds = 0;
  for (; sequence->stopped == StopReason::kNone; ++rounds) {
    EXPECT_EQ(absorbed, 0);
    ASSERT_TRUE(decoder.Step(*sequence, random).ok());
  }
  EXPECT_GT(rounds, 1);
  EXPECT_EQ(absorbed, 0);
  ASSERT_TRUE(decoder.Absorb(Decoder::End(*sequence)).ok());
  EXPECT_EQ(absorbed, 1);
  MustDecode(decoder, {.tokens = {5, 2}}, {.max_new_tokens = 9});
  EXPECT_EQ(absorbed, 2);
  EXPECT_EQ(decoder.Absorb({.text = {1}, .learnt = {}}).message(),
            "what a prompt taught 0 trunks, of which this method has 1");
}

// Its weights are so large that its logits overflow.
class Overflowing : public TableDrafter {
 public:
  using TableDrafter::TableDrafter;

  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> /*requests*/) override {
    return NoLogit(0, std::numeric_limits<double>::quiet_NaN());
  }
};

TEST(Prompts, OfADrafterThatOverflowsFailByItsName) {
  const auto target = Toy({.vocab_size = 5});
  std::vector<Trunk> trunks;
  trunks.push_back(
      TrunkOf(std::make_unique<Overflowing>(target), "chain {nodes: 1}"));
  Decoder decoder =
      WithTrunks(*target, "multi_round", std::move(trunks)).value();
  SeededSource random(1);
  auto sequence = decoder.Begin({.tokens = {5, 2}}, {.max_new_tokens = 9});
  ASSERT_TRUE(sequence.ok()) << sequence.status();
  EXPECT_EQ(decoder.Step(*sequence, random).status().message(),
            "drafter test drafter: the logit of token 0 is nan, expected a "
            "number");
}

// A lesson that one trunk cannot read is taken over by none.
TEST(Prompts, TeachEveryTrunkOrNone) {
  const auto target = Toy({.vocab_size = 5});
  const auto drafter = [] {
    return std::make_unique<Suffix>(6, SuffixOptions{.keep_texts = true},
                                    SamplingRule());
  };
  std::vector<Trunk> trunks;
  for (int i = 0; i < 2; ++i)
    trunks.push_back(
        TrunkOf(drafter(), "chain {nodes: 1}", DrawKind::kDeterministic));
  Decoder decoder = WithTrunks(*target, "match", std::move(trunks)).value();
  const auto held = [&](std::size_t trunk) {
    const Drafter& taught = *decoder.method().trunks[trunk].drafter;
    return taught.carried()->holdings().front().held;
  };
  const std::string good("\1\0\0\0", 4);
  EXPECT_EQ(decoder.Absorb({{5, 2, 1}, {good, "torn"}}).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(held(0), 0);
  ASSERT_TRUE(decoder.Absorb({{5, 2, 1}, {good, good}}).ok());
  EXPECT_EQ(held(0), 1);
  EXPECT_EQ(held(1), 1);
}

TEST(Prompts, APromptLeftInTheMiddleLeavesNoTrace) {
  const Pairing pairing = {
      .target = Toy({.vocab_size = 5}),
      .verifier = "traversal",
      .trunks = {{"adaptive_chain {nodes: 4, threshold: 0, adjust: true}",
                  Toy({.vocab_size = 5, .sharpness = 1})}}};
  const Prompt prompt = {.id = 1, .tokens = {5, 2}};
  const StopRule stop = {.max_new_tokens = 20};
  absl::StatusOr<Decoder> decoder = Build(pairing);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  SeededSource random(1);
  absl::StatusOr<Sequence> left = decoder->Begin({.tokens = {5, 0}}, stop);
  ASSERT_TRUE(left.ok());
  for (int round = 0; round < 3; ++round)
    ASSERT_TRUE(decoder->Step(*left, random).ok());
  EXPECT_EQ(Traces(MustDecode(*decoder, prompt, stop)),
            Traces(MustDecode(pairing, prompt, stop)));
}

TEST(Prompts, AnEmptyOneIsAnError) {
  const auto target = Toy({});
  SeededSource random(0);
  absl::StatusOr<Decoder> decoder =
      Build({.target = target, .verifier = "match"});
  ASSERT_TRUE(decoder.ok());
  EXPECT_EQ(decoder->Begin({}, {.max_new_tokens = 3}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      DecodePlainly(*target, SamplingRule(), {}, {.max_new_tokens = 3}, random)
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace banyan
