// Where a sequence ends: what is emitted, what is counted and why it stopped
// equal plain decoding, wherever in a round the end falls.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/sequence.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/shared_models.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

constexpr int kVocab = 8;
constexpr TokenId kEnd = 7;
constexpr TokenId kOtherEnd = 6;

const char* const kVerifiers[] = {"greedy", "match", "multi_round", "leviathan",
                                  "k_seq",  "block", "traversal"};
const char* const kPolicies[] = {
    "chain {nodes: 4}", "chain {nodes: 1}", "expansion {branching: [2, 1, 2]}",
    "expand_rerank {width: 2, levels: 3, nodes: 4}"};

// Methods that draft exactly what the target says, so that every round is
// accepted as far as it goes, and methods whose drafter errs on the way.
std::vector<Pairing> Methods(const std::shared_ptr<TableModel>& target) {
  std::vector<Pairing> methods;
  const auto errs = Toy({.vocab_size = kVocab, .seed = 4, .sharpness = 3});
  for (const char* verifier : kVerifiers) {
    for (const char* policy : kPolicies) {
      for (const auto& drafter : {target, errs}) {
        const Pairing pairing = {.target = target,
                                 .verifier = verifier,
                                 .trunks = {{policy, drafter}},
                                 .sampling = {.temperature = 0}};
        if (Build(pairing).ok()) methods.push_back(pairing);
      }
    }
  }
  return methods;
}

bool NothingBelow(const std::vector<TokenId>& ends, const DraftTree& tree) {
  for (int i = 1; i < tree.size(); ++i) {
    const Node& node = tree.node(i);
    const bool end = std::count(ends.begin(), ends.end(), node.token) > 0;
    if (end && !(node.children.empty() && node.lists.empty())) return false;
  }
  return true;
}

// Holds every method against plain decoding, and against the same engine with
// no drafter, which knows why it stopped.
void ExpectEndsAsPlain(const std::shared_ptr<TableModel>& target,
                       const Prompt& prompt, const StopRule& stop,
                       StopReason reason) {
  const std::vector<TokenId> plain = MustDecodePlainly(
      *target, SamplingRule({.temperature = 0}), prompt, stop);
  const Decoded bare = MustDecode(
      {.target = target, .verifier = "match", .sampling = {.temperature = 0}},
      prompt, stop);
  EXPECT_EQ(bare.tokens, plain);
  EXPECT_EQ(bare.stopped, reason) << Name(bare.stopped);
  const std::vector<Pairing> methods = Methods(target);
  EXPECT_GT(methods.size(), 30);
  for (const Pairing& method : methods) {
    const Decoded decoded = MustDecode(method, prompt, stop);
    EXPECT_EQ(decoded.tokens, plain) << Describe(method);
    EXPECT_EQ(decoded.stopped, reason)
        << Describe(method) << ": " << Name(decoded.stopped);
    for (const RoundRecord& round : decoded.rounds)
      EXPECT_TRUE(NothingBelow(stop.end_of_text, round.tree))
          << "drafted below an end of text: " << ToText(round.tree);
  }
}

// 0, 1, 2, ... 5, 0, 1, ... with `end` at `at`.
std::vector<TokenId> Counting(int length, int at, TokenId end) {
  std::vector<TokenId> script;
  for (int i = 0; i < length; ++i)
    script.push_back(i == at ? end : static_cast<TokenId>(i % 6));
  return script;
}

const Prompt& Begin() {
  static const auto& prompt = *new Prompt{.tokens = {kVocab}};
  return prompt;
}

// Field pitfall 10.
TEST(Stop, AnEndOfTextEndsTheTextAtEveryDepthOfARound) {
  for (int at = 0; at < 11; ++at) {
    SCOPED_TRACE(absl::StrCat("end at ", at));
    const auto target = Script(kVocab, Counting(12, at, kEnd));
    const StopRule stop = {.end_of_text = {kEnd}, .max_new_tokens = 50};
    ExpectEndsAsPlain(target, Begin(), stop, StopReason::kEndOfText);
    EXPECT_EQ(
        static_cast<int>(
            MustDecodePlainly(*target, SamplingRule(), Begin(), stop).size()),
        at + 1)
        << "the end itself counts";
  }
}

TEST(Stop, EveryOneOfSeveralEndsEndsTheText) {
  for (TokenId end : {kEnd, kOtherEnd}) {
    for (int at = 0; at < 6; ++at) {
      std::vector<TokenId> script = Counting(12, at, end);
      script[static_cast<std::size_t>(at) + 2] =
          end == kEnd ? kOtherEnd : kEnd;  // too late
      ExpectEndsAsPlain(
          Script(kVocab, script), Begin(),
          {.end_of_text = {kOtherEnd, kEnd}, .max_new_tokens = 50},
          StopReason::kEndOfText);
    }
  }
}

TEST(Stop, TheLengthLimitCutsAtEveryDepthOfARound) {
  const auto target = Script(kVocab, Counting(30, -1, kEnd));
  for (int length = 0; length < 12; ++length) {
    SCOPED_TRACE(absl::StrCat("length ", length));
    const StopRule stop = {.end_of_text = {kEnd}, .max_new_tokens = length};
    ExpectEndsAsPlain(target, Begin(), stop, StopReason::kLength);
    EXPECT_EQ(
        static_cast<int>(
            MustDecodePlainly(*target, SamplingRule(), Begin(), stop).size()),
        length);
  }
}

TEST(Stop, AnEndThatIsTheLastTokenAllowedIsAnEnd) {
  const auto target = Script(kVocab, Counting(12, 5, kEnd));
  ExpectEndsAsPlain(target, Begin(),
                    {.end_of_text = {kEnd}, .max_new_tokens = 6},
                    StopReason::kEndOfText);
  ExpectEndsAsPlain(target, Begin(),
                    {.end_of_text = {kEnd}, .max_new_tokens = 5},
                    StopReason::kLength);
}

TEST(Stop, TheContextEndsTheTextAtEveryDepthOfARound) {
  const Prompt prompt = {.tokens = {kVocab, 3, 2}};
  for (int limit = 3; limit < 15; ++limit) {
    SCOPED_TRACE(absl::StrCat("context of ", limit));
    for (const auto& model : {Script(kVocab, Counting(30, -1, kEnd)),
                              Toy({.vocab_size = kVocab, .seed = 9})}) {
      const auto target = Limited(model, limit);
      ExpectEndsAsPlain(target, prompt, {.max_new_tokens = 50},
                        StopReason::kContext);
      EXPECT_EQ(static_cast<int>(
                    MustDecodePlainly(*target, SamplingRule({.temperature = 0}),
                                      prompt, {.max_new_tokens = 50})
                        .size()),
                limit - 3 + 1)
          << "the last one is emitted and never read";
    }
  }
}

TEST(Stop, ALimitAndAContextThatMeetAreALength) {
  const auto target = Limited(Script(kVocab, Counting(30, -1, kEnd)), 6);
  for (int length : {5, 6, 7})
    ExpectEndsAsPlain(target, Begin(), {.max_new_tokens = length},
                      length <= 6 ? StopReason::kLength : StopReason::kContext);
}

TEST(Stop, APromptLongerThanTheContextIsAnError) {
  const auto target = Limited(Toy({.vocab_size = kVocab}), 4);
  const StopRule stop = {.max_new_tokens = 3};
  SeededSource random(0);
  const Prompt fits = {.tokens = {kVocab, 1, 2, 3}};
  const Prompt longer = {.tokens = {kVocab, 1, 2, 3, 4}};
  EXPECT_EQ(MustDecodePlainly(*target, SamplingRule(), fits, stop).size(), 1);
  EXPECT_EQ(DecodePlainly(*target, SamplingRule(), longer, stop, random)
                .status()
                .code(),
            absl::StatusCode::kOutOfRange);
  absl::StatusOr<Decoder> decoder =
      Build({.target = target,
             .verifier = "multi_round",
             .trunks = {{"chain {nodes: 3}", target}}});
  ASSERT_TRUE(decoder.ok());
  EXPECT_EQ(MustDecode(*decoder, fits, stop).tokens.size(), 1);
  EXPECT_EQ(decoder->Begin(longer, stop).status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST(Stop, ReasonsHaveNames) {
  EXPECT_EQ(Name(StopReason::kNone), "none");
  EXPECT_EQ(Name(StopReason::kEndOfText), "end_of_text");
  EXPECT_EQ(Name(StopReason::kLength), "length");
  EXPECT_EQ(Name(StopReason::kContext), "context");
}

}  // namespace
}  // namespace banyan
