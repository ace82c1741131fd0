// Rules that depend on the history: each node's own ancestors belong to it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "experiments/proof/exact_law.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/shared_models.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tally.h"
#include "tests/support/tree_text.h"

namespace banyan {
namespace {

// Sums of thousands of products of some ten factors.
constexpr double kRounding = 1e-12;

TEST(Penalty, EqualsPlainDecodingAtTemperatureZero) {
  Tally tally;
  for (double penalty : {1.1, 2., 50.}) {
    const SamplingOptions sampling = {.repetition_penalty = penalty,
                                      .temperature = 0};
    for (int seed = 0; seed < 10; ++seed) {
      const auto target = Toy({.vocab_size = 6, .seed = seed});
      const Prompt prompt = {.tokens = {6, 2}};
      const StopRule stop = {.max_new_tokens = 20};
      const std::vector<TokenId> plain =
          MustDecodePlainly(*target, SamplingRule(sampling), prompt, stop);
      for (const std::string& verifier : LosslessVerifiers(0)) {
        for (const char* policy :
             {"chain {nodes: 3}", "best_first {most_draws: 6}",
              "expand_rerank {width: 2, levels: 3, nodes: 5}"}) {
          const Pairing pairing = {.target = target,
                                   .verifier = verifier,
                                   .trunks = {{policy, target}},
                                   .sampling = sampling};
          absl::StatusOr<Decoder> decoder = Build(pairing);
          if (IsRefusal(decoder.status())) {
            tally.Count(CaseResult::kUnlawful);
            continue;
          }
          ASSERT_TRUE(decoder.ok()) << decoder.status();
          EXPECT_EQ(MustDecode(*decoder, prompt, stop).tokens, plain)
              << Describe(pairing) << ", penalty " << penalty << ", seed "
              << seed;
          tally.Count(CaseResult::kProven);
        }
      }
    }
  }
  ExpectCounts(tally, 720);
}

// A model with the same distribution after every text: only a penalty keeps it
// from giving 0 for ever.
std::shared_ptr<TableModel> Stubborn() {
  return std::make_shared<TableModel>(3, [](absl::Span<const TokenId>) {
    return std::vector<double>{0.6, 0.3, 0.1};
  });
}

// Field pitfall 9: a penalty that forbids repeats, a tree that repeats.
TEST(Penalty, ATreeThatRepeatsATokenIsJudgedByThePenalisedRow) {
  Tally tally;
  for (const std::string& verifier : LosslessVerifiers(0)) {
    std::vector<Trunk> trunks;
    trunks.push_back(TrunkOf(
        std::make_unique<TableDrafter>([](absl::Span<const TokenId>) {
          return Distribution::OneHot(3, 0);
        }),
        "chain {nodes: 3}", VerifierOf(verifier)->traits().draw_kinds.front()));
    const auto target = Stubborn();
    Decoder decoder = WithTrunks(*target, verifier, std::move(trunks),
                                 {.repetition_penalty = 1000, .temperature = 0})
                          .value();
    const Decoded decoded =
        MustDecode(decoder, {.tokens = {3}}, {.max_new_tokens = 3});
    const RoundRecord& first = decoded.rounds.front();
    ASSERT_EQ(ToText(first.tree), "3(0(0(0)))") << verifier;
    EXPECT_EQ(first.verdict.path, (std::vector<int>{1})) << verifier;
    EXPECT_EQ(first.verdict.next, 1) << verifier;
    EXPECT_EQ(decoded.tokens, (std::vector<TokenId>{0, 1, 2})) << verifier;
    tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, 11);
}

TEST(Penalty, KeepsTheTargetsLawAtTemperatureOne) {
  const SamplingOptions sampling = {.repetition_penalty = 3};
  const auto target = Toy({.seed = 1});
  // What the enumeration is held against, by hand for one string.
  std::vector<TokenId> text = {target->begin()};
  double by_hand = 1;
  for (TokenId token : {0, 0, 1}) {
    by_hand *= LawAfter(*target, text, SamplingRule(sampling)).Mass(token);
    text.push_back(token);
  }
  Tally tally;
  for (const std::string& verifier : LosslessVerifiers(1)) {
    for (const char* policy :
         {"chain {nodes: 2}", "expansion {branching: [2, 1]}",
          "best_first {most_draws: 3}"}) {
      const Pairing pairing = {.target = target,
                               .verifier = verifier,
                               .trunks = {{policy, Toy({.seed = 2})}},
                               .sampling = sampling};
      absl::StatusOr<Decoder> decoder = Build(pairing);
      if (IsRefusal(decoder.status())) {
        tally.Count(CaseResult::kUnlawful);
        continue;
      }
      ASSERT_TRUE(decoder.ok()) << decoder.status();
      const absl::StatusOr<ExactLaw> law =
          ComputeExactLaw(*target, *decoder, {.horizon = 3, .rounds = 1});
      ASSERT_TRUE(law.ok()) << Describe(pairing) << ": " << law.status();
      EXPECT_LE(law->max_abs_error, kRounding) << Describe(pairing);
      EXPECT_NEAR(law->law.at({0, 0, 1}), by_hand, kRounding)
          << Describe(pairing);
      tally.Count(CaseResult::kProven);
    }
  }
  ExpectCounts(tally, 22);
}

}  // namespace
}  // namespace banyan
