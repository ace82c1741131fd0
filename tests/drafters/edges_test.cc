// Every drafter that needs no transformer where everything is accepted, where
// nothing is, and where the text or the context ends at each depth of a round.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/context.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "drafters/small_model/small_model.h"
#include "tests/drafters/asking.h"
#include "tests/support/decoding.h"
#include "tests/support/models.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr int kVocab = 8;
constexpr TokenId kEnd = 7;
constexpr int kSaid = 18;  // of the prompt: three times 0 to 5
constexpr int kGamma = 4;

// 0, 1, ... 5, 0, 1, ... for so long, with `end` at `at` of what comes after
// the prompt.
std::shared_ptr<TableModel> Counting(int length, int at = -1) {
  std::vector<TokenId> script;
  for (int i = 0; i < length; ++i)
    script.push_back(at >= 0 && i == kSaid + at ? kEnd
                                                : static_cast<TokenId>(i % 6));
  return Script(kVocab, script);
}

Prompt Said() {
  Prompt prompt = {.tokens = {kVocab}};
  for (int i = 0; i < kSaid; ++i)
    prompt.tokens.push_back(static_cast<TokenId>(i % 6));
  return prompt;
}

// Says the next token but one wherever another drafter says the next.
class Wrong : public Drafter {
 public:
  explicit Wrong(std::unique_ptr<Drafter> right) : right_(std::move(right)) {}
  std::vector<DraftLaw> laws() const override { return right_->laws(); }
  absl::Status Begin(const Context& context) override {
    return right_->Begin(context);
  }
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const GrowingTree& tree,
      absl::Span<const int> nodes) override {
    auto laws = right_->Propose(context, tree, nodes);
    if (!laws.ok()) return laws;
    for (Distribution& law : *laws) {
      std::vector<double> masses(kVocab, 0);
      law.ForEach([&](TokenId token, double mass) {
        masses[static_cast<std::size_t>((token + 1) % 6)] += mass;
      });
      law = Distribution::Dense(masses);
    }
    return laws;
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override {
    return right_->Observe(context, outcome);
  }

 private:
  std::unique_ptr<Drafter> right_;
};

using MakeDrafter =
    std::function<std::unique_ptr<Drafter>(std::shared_ptr<TableModel>)>;

struct Named {
  std::string name;
  MakeDrafter make;
};

std::vector<Named> Drafters() {
  const auto built = [](const std::string& spec) {
    return Named{spec, [spec](const std::shared_ptr<TableModel>&) {
                   return MustBuild(spec, {.sampling = {.temperature = 0}});
                 }};
  };
  return {{"small_model",
           [](const std::shared_ptr<TableModel>& target) {
             return std::make_unique<SmallModel>(
                 target, SamplingRule({.temperature = 0}));
           }},
          built("ngram {history: 0}"),
          built("ngram {history: 16}"),
          built("copy {min_match: 1}")};
}

Decoded Decode(const std::shared_ptr<TableModel>& target,
               std::unique_ptr<Drafter> drafter, const std::string& policy,
               const StopRule& stop) {
  std::vector<Trunk> trunks;
  trunks.push_back(
      TrunkOf(std::move(drafter), policy, DraftLaw::kDeterministic));
  auto decoder =
      WithTrunks(*target, "multi_round", std::move(trunks), {.temperature = 0});
  EXPECT_TRUE(decoder.ok()) << decoder.status();
  return MustDecode(*decoder, Said(), stop);
}

TEST(Edges, EverythingIsAcceptedForFiftyRounds) {
  const auto target = Counting(1000);
  for (const Named& drafter : Drafters()) {
    const Decoded decoded = Decode(target, drafter.make(target),
                                   absl::StrCat("chain {gamma: ", kGamma, "}"),
                                   {.max_new_tokens = 50 * (kGamma + 1)});
    ASSERT_EQ(decoded.rounds.size(), 50U) << drafter.name;
    for (const RoundRecord& round : decoded.rounds)
      EXPECT_EQ(round.verdict.path.size(), kGamma) << drafter.name;
  }
}

TEST(Edges, NothingIsAcceptedForFiftyRounds) {
  const auto target = Counting(1000);
  const StopRule stop = {.max_new_tokens = 50};
  for (const Named& drafter : Drafters()) {
    const Decoded decoded =
        Decode(target, std::make_unique<Wrong>(drafter.make(target)),
               "expansion {branching: [1, 1]}", stop);
    ASSERT_EQ(decoded.rounds.size(), 50U) << drafter.name;
    int drafted = 0;
    for (const RoundRecord& round : decoded.rounds) {
      EXPECT_TRUE(round.verdict.path.empty()) << drafter.name;
      drafted += round.tree.size() - 1;
    }
    EXPECT_GE(drafted, 50) << drafter.name;
    EXPECT_EQ(decoded.tokens,
              MustDecodePlainly(*target, SamplingRule({.temperature = 0}),
                                Said(), stop));
  }
}

// What plain decoding emits, and why it stops.
void ExpectAsPlain(const std::shared_ptr<TableModel>& target,
                   const StopRule& stop, StopReason reason) {
  const std::vector<TokenId> plain = MustDecodePlainly(
      *target, SamplingRule({.temperature = 0}), Said(), stop);
  for (const Named& drafter : Drafters())
    for (const char* policy :
         {"chain {gamma: 4}", "expansion {branching: [2, 1, 2]}"}) {
      const Decoded decoded =
          Decode(target, drafter.make(target), policy, stop);
      EXPECT_EQ(decoded.tokens, plain) << drafter.name << ", " << policy;
      EXPECT_EQ(decoded.stopped, reason) << drafter.name << ", " << policy;
    }
}

TEST(Edges, TheTextEndsAtEveryDepthOfARound) {
  for (int at = 0; at < 11; ++at) {
    SCOPED_TRACE(absl::StrCat("end at ", at));
    ExpectAsPlain(Counting(kSaid + 20, at),
                  {.end_of_text = {kEnd}, .max_new_tokens = 50},
                  StopReason::kEndOfText);
  }
}

TEST(Edges, TheContextEndsAtEveryDepthOfARound) {
  for (int room = 0; room < 11; ++room) {
    SCOPED_TRACE(absl::StrCat("room for ", room));
    ExpectAsPlain(Limited(Counting(200), kSaid + 1 + room),
                  {.max_new_tokens = 50}, StopReason::kContext);
  }
}

TEST(Edges, TheLengthEndsAtEveryDepthOfARound) {
  for (int length = 1; length < 12; ++length)
    ExpectAsPlain(Counting(200), {.max_new_tokens = length},
                  StopReason::kLength);
}

}  // namespace
}  // namespace banyan
