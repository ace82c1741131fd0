// Methods that must coincide, by exact enumeration.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "experiments/proof/exact_law.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"
#include "verifiers/catalogue.h"

namespace banyan {
namespace {

std::shared_ptr<TableModel> Target(int seed) { return Toy({.seed = seed}); }

// Expects equal output distributions, and equal acceptance at every depth.
void ExpectSame(const ExactLaw& a, const ExactLaw& b, const std::string& what) {
  ASSERT_EQ(a.law.size(), b.law.size()) << what;
  for (const auto& [text, probability] : a.law)
    EXPECT_NEAR(probability, b.law.at(text), kRounding) << what;
  EXPECT_NEAR(a.expected_tokens_per_round, b.expected_tokens_per_round,
              kRounding)
      << what;
  ASSERT_EQ(a.acceptance_per_depth.size(), b.acceptance_per_depth.size())
      << what;
  for (std::size_t d = 0; d < a.acceptance_per_depth.size(); ++d)
    EXPECT_NEAR(a.acceptance_per_depth[d], b.acceptance_per_depth[d], kRounding)
        << what;
}

TEST(Identity, ADrafterEqualToTheTargetIsAcceptedWholly) {
  for (const char* verifier :
       {"leviathan", "multi_round", "multi_round {order: shuffled}",
        "without_replacement", "k_seq", "block", "traversal", "rejection"}) {
    const ExactLaw law =
        OneRound(One(Target(1), verifier, "chain {nodes: 3}", Target(1)), 4);
    EXPECT_NEAR(law.expected_tokens_per_round, 4, kRounding) << verifier;
  }
  for (const char* verifier :
       {"multi_round", "without_replacement", "k_seq", "traversal"}) {
    const ExactLaw law = OneRound(
        One(Target(1), verifier, "expansion {branching: [2, 1]}", Target(1)));
    EXPECT_NEAR(law.expected_tokens_per_round, 3, kRounding) << verifier;
  }
  const ExactLaw law = OneRound(One(Target(1), "without_replacement",
                                    "expansion {branching: [2, 1]}", Target(1),
                                    DrawKind::kWithoutReplacement));
  EXPECT_NEAR(law.expected_tokens_per_round, 3, kRounding);
}

TEST(Identity, MatchAcceptsTheSumOfSquaresOfADrafterEqualToTheTarget) {
  const ExactLaw law =
      OneRound(One(Target(1), "match", "chain {nodes: 1}", Target(1)), 1);
  double squares = 0;
  for (const auto& [text, mass] : law.target_law) squares += mass * mass;
  EXPECT_NEAR(law.acceptance_per_depth.at(0), squares, kRounding);
}

TEST(Identity, OneDrawMakesTheTreeVerifiersTheChainVerifier) {
  for (int seed = 1; seed <= 5; ++seed) {
    for (bool zeros : {false, true}) {
      const auto drafter = Toy({.seed = seed + 10, .zeros = zeros});
      const ExactLaw chain =
          OneRound(One(Target(seed), "leviathan", "chain {nodes: 2}", drafter));
      for (const char* verifier :
           {"multi_round", "multi_round {order: shuffled}",
            "without_replacement", "k_seq"})
        ExpectSame(
            chain,
            OneRound(One(Target(seed), verifier, "chain {nodes: 2}", drafter)),
            verifier);
    }
  }
}

TEST(Identity, OnAChainTraversalIsBlock) {
  for (int seed = 1; seed <= 5; ++seed)
    for (const char* policy :
         {"chain {nodes: 1}", "chain {nodes: 3}",
          "adaptive_chain {nodes: 3, on_low: drop, threshold: 0.35}"})
      ExpectSame(
          OneRound(One(Target(seed), "block", policy, Target(seed + 10))),
          OneRound(One(Target(seed), "traversal", policy, Target(seed + 10))),
          policy);
}

// The draws of one list are exchangeable: not even who is accepted changes.
TEST(Identity, RandomOrderChangesNothingForDrawsOfOneDrafter) {
  for (int seed = 1; seed <= 5; ++seed)
    for (const char* policy :
         {"expansion {branching: [2, 1]}", "expansion {branching: [3]}",
          "sequences {width: 2, levels: 2}"})
      ExpectSame(
          OneRound(One(Target(seed), "multi_round", policy, Target(seed + 10))),
          OneRound(One(Target(seed), "multi_round {order: shuffled}", policy,
                       Target(seed + 10))),
          policy);
}

TEST(Identity, MatchAndPointMassHaveOneLawAndOneAcceptance) {
  for (int seed = 1; seed <= 5; ++seed)
    for (DrawKind draw_kind :
         {DrawKind::kIndependent, DrawKind::kDeterministic})
      ExpectSame(
          OneRound(One(Target(seed), "match", "expansion {branching: [2, 1]}",
                       Target(seed + 10), draw_kind)),
          OneRound(One(Target(seed), "point_mass",
                       "expansion {branching: [2, 1]}", Target(seed + 10),
                       draw_kind)),
          "match and point_mass");
}

TEST(Identity, OneHotProposalsMakeMultiRoundPointMass) {
  for (int seed = 1; seed <= 5; ++seed)
    ExpectSame(OneRound(One(Target(seed), "multi_round",
                            "expansion {branching: [2, 2]}", Target(seed + 10),
                            DrawKind::kDeterministic)),
               OneRound(One(Target(seed), "point_mass",
                            "expansion {branching: [2, 2]}", Target(seed + 10),
                            DrawKind::kDeterministic)),
               "multi_round on ranked candidates");
}

// At temperature 0 the target distribution is one-hot, so every lossless
// verifier accepts the same tokens as greedy, with every drafter.
TEST(Identity, AtTemperatureZeroEveryLosslessVerifierIsGreedy) {
  Tally tally;
  for (int seed = 1; seed <= 5; ++seed) {
    for (const VerifierRow& row : VerifierCatalogue()) {
      Pairing pairing = One(Target(seed), std::string(row.name),
                            "chain {nodes: 2}", Target(seed + 10));
      pairing.sampling.temperature = 0;
      absl::StatusOr<Decoder> decoder = Build(pairing);
      ASSERT_TRUE(decoder.ok()) << decoder.status();
      if (!IsLossless(decoder->method())) {
        tally.LeaveOut("lossy");
        continue;
      }
      Pairing greedy = pairing;
      greedy.verifier = "greedy";
      ExpectSame(OneRound(greedy), OneRound(pairing), std::string(row.name));
      tally.Count(CaseResult::kProven);
    }
  }
  ExpectCounts(tally, 50);
}

// The drafter's argmax is 0, its second is 1, the target's argmax is 1: a tree
// of two ranked candidates holds it, though the drafter samples at temperature
// 0.
TEST(Identity, RankedCandidatesAreMoreThanOneAtTemperatureZero) {
  const auto target = std::make_shared<TableModel>(
      TableModel::Bigram({0.2, 0.5, 0.3}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}));
  const auto drafter = std::make_shared<TableModel>(
      TableModel::Bigram({0.6, 0.3, 0.1}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}));
  Pairing pairing = One(target, "greedy", "expansion {branching: [2]}", drafter,
                        DrawKind::kDeterministic);
  pairing.sampling.temperature = 0;
  EXPECT_NEAR(OneRound(pairing).expected_tokens_per_round, 2, kRounding);
}

TEST(Identity, AnEmptyTreeIsPlainDecoding) {
  Tally tally;
  for (const VerifierRow& row : VerifierCatalogue()) {
    for (bool trunk : {false, true}) {
      Pairing pairing = {.target = Target(1),
                         .verifier = std::string(row.name)};
      if (trunk) pairing.trunks = {{"chain {nodes: 0}", Target(2)}};
      if (row.name == "greedy") pairing.sampling.temperature = 0;
      const ExactLaw law = OneRound(pairing);
      EXPECT_NEAR(law.expected_tokens_per_round, 1, kRounding) << row.name;
      EXPECT_LE(law.max_abs_error, kRounding) << row.name;
      tally.Count(CaseResult::kProven);
    }
  }
  ExpectCounts(tally, 32);
}

}  // namespace
}  // namespace banyan
