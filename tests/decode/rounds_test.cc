// Rounds that fail, rounds that must not be run, rounds run again.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "core/random/enumerating_source.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/drafter.h"
#include "drafters/small_models/small_model/small_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/fake_policy.h"
#include "tests/support/shared_models.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tally.h"
#include "tree/tree_policy.h"
#include "verifiers/catalogue.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;

// Fails once, at its `fails_at`-th pass.
class Flaky : public SmallModel {
 public:
  Flaky(std::shared_ptr<TableModel> model, int fails_at)
      : SmallModel(std::move(model), SamplingRule()), fails_at_(fails_at) {}

  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override {
    if (--fails_at_ == 0) return absl::UnavailableError("away for a moment");
    return SmallModel::Propose(requests);
  }

 private:
  int fails_at_;
};

TEST(Rounds, OneThatFailsCommitsNothingAndCanBeRunAgain) {
  const auto target = Toy({.vocab_size = 5});
  const auto drafting = Toy({.vocab_size = 5, .sharpness = 1});
  const auto decode = [&](int fails_at, int& failures) {
    std::vector<Trunk> trunks;
    trunks.push_back(
        TrunkOf(std::make_unique<SmallModel>(drafting, SamplingRule()),
                "adaptive_chain {nodes: 2, threshold: 0, adjust: true}"));
    trunks.push_back(TrunkOf(std::make_unique<Flaky>(drafting, fails_at),
                             "expansion {branching: [2, 2]}"));
    Decoder decoder =
        WithTrunks(*target, "multi_round", std::move(trunks)).value();
    Sequence sequence =
        decoder.Begin({.tokens = {5, 1}}, {.max_new_tokens = 25}).value();
    SeededSource random(3);
    while (sequence.stopped == StopReason::kNone) {
      const std::vector<TokenId> before = sequence.context.tokens;
      const absl::StatusOr<RoundRecord> round = decoder.Step(sequence, random);
      if (round.ok()) continue;
      ++failures;
      EXPECT_EQ(round.status(), absl::UnavailableError("away for a moment"));
      EXPECT_EQ(sequence.context.tokens, before);
    }
    return sequence.context.tokens;
  };
  int failures = 0;
  const std::vector<TokenId> expected = decode(-1, failures);
  EXPECT_EQ(failures, 0);
  for (int fails_at = 1; fails_at <= 12; ++fails_at)
    EXPECT_EQ(decode(fails_at, failures), expected) << "pass " << fails_at;
  EXPECT_EQ(failures, 12);
}

// A target whose `fails_at`-th row, counted from 1, has no token.
TableModel Stumbling(std::shared_ptr<TableModel> model, int fails_at) {
  return {5, [model = std::move(model),
              fails_at](absl::Span<const TokenId> text) mutable {
            if (--fails_at == 0) return std::vector<double>(5, 0);
            return Masses(LawAfter(*model, text));
          }};
}

// Each attempt drafts another tree, so that what the last one left would show.
TEST(Rounds, OneThatFailsAfterScoringLeavesNothing) {
  const auto model = Toy({.vocab_size = 5});
  const std::vector<TokenId> expected =
      MustDecodePlainly(*model, SamplingRule({.temperature = 0}),
                        {.tokens = {5, 1}}, {.max_new_tokens = 12});
  int failures = 0;
  for (int fails_at = 1; fails_at <= 60; ++fails_at) {
    const TableModel target = Stumbling(model, fails_at);
    std::vector<Trunk> trunks;
    trunks.push_back(TrunkOf(std::make_unique<TableDrafter>(model),
                             "expansion {branching: [2, 2]}"));
    Decoder decoder =
        WithTrunks(target, "multi_round", std::move(trunks), {.temperature = 0})
            .value();
    Sequence sequence =
        decoder.Begin({.tokens = {5, 1}}, {.max_new_tokens = 12}).value();
    std::vector<TokenId> emitted;
    for (std::uint64_t seed = 0; sequence.stopped == StopReason::kNone;
         ++seed) {
      SeededSource random(seed);
      const absl::StatusOr<RoundRecord> round = decoder.Step(sequence, random);
      failures += round.ok() ? 0 : 1;
      if (round.ok())
        emitted.insert(emitted.end(), round->emitted.begin(),
                       round->emitted.end());
    }
    EXPECT_EQ(emitted, expected) << "row " << fails_at;
  }
  EXPECT_GT(failures, 10);
}

TEST(Rounds, NoTwoShareRandomness) {
  const auto target = Toy({.vocab_size = 2});
  for (const char* policy : {"chain {nodes: 0}", "chain {nodes: 1}"}) {
    const Pairing pairing = {.target = target,
                             .verifier = "multi_round",
                             .trunks = {{policy, Toy({.vocab_size = 2})}}};
    absl::StatusOr<Decoder> decoder = Build(pairing);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    EnumeratingSource source(5000);  // ends the program on a repeated key
    do {
      ASSERT_TRUE(decoder
                      ->Decode({.tokens = {2}}, {.max_new_tokens = 3}, source,
                               [](const RoundRecord&) {})
                      .ok());
    } while (source.Advance());
    EXPECT_FALSE(source.exhausted());
  }
}

// A target that has no token left after three of them.
std::shared_ptr<TableModel> DeadEnd() {
  return std::make_shared<TableModel>(3, [](absl::Span<const TokenId> text) {
    return text.size() < 4 ? std::vector<double>{0.5, 0.25, 0.25}
                           : std::vector<double>{0, 0, 0};
  });
}

TEST(Rounds, ATargetWithoutATokenIsAnErrorForEveryVerifier) {
  const Prompt prompt = {.tokens = {3}};
  const StopRule stop = {.max_new_tokens = 20};
  Tally tally;
  for (const VerifierRow& row : VerifierCatalogue()) {
    for (const char* policy :
         {"chain {nodes: 5}", "best_first {most_draws: 9}"}) {
      for (double temperature : {0., 1.}) {
        const auto target = DeadEnd();
        absl::StatusOr<Decoder> decoder =
            Build({.target = target,
                   .verifier = std::string(row.name),
                   .trunks = {{policy, Toy({.vocab_size = 3})}},
                   .sampling = {.temperature = temperature}});
        if (IsRefusal(decoder.status())) {
          tally.Count(CaseResult::kUnlawful);
          continue;
        }
        ASSERT_TRUE(decoder.ok()) << decoder.status();
        tally.Count(CaseResult::kProven);
        SeededSource random(1);
        const auto tokens =
            decoder->Decode(prompt, stop, random, [](const RoundRecord&) {});
        EXPECT_FALSE(tokens.ok()) << row.name << " + " << policy;
      }
    }
  }
  ExpectCounts(tally, 54);
}

TEST(Rounds, ATreeThatBreaksItsPolicysPromiseIsAnError) {
  const auto target = Toy({});
  std::vector<Trunk> trunks;
  trunks.push_back(
      TrunkOf(std::make_unique<TableDrafter>(target), "chain {nodes: 1}"));
  PolicyTraits traits = trunks[0].policy->traits();
  trunks[0].policy =
      std::make_unique<FakePolicy>(FakePolicy::Once({.draws = 2}, traits));
  Decoder decoder = WithTrunks(*target, "leviathan", std::move(trunks)).value();
  SeededSource random(1);
  const auto tokens = decoder.Decode({.tokens = {3}}, {.max_new_tokens = 5},
                                     random, [](const RoundRecord&) {});
  EXPECT_EQ(tokens.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(tokens.status().message()), HasSubstr("leviathan"));
}

}  // namespace
}  // namespace banyan
