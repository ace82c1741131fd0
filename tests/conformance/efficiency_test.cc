// Who accepts more, exactly, over many random targets and drafters.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/model/table_model.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

constexpr int kSeeds = 25;

// Target and drafter of one case; sharpness and zeros vary with the seed.
struct EfficiencyCase {
  std::shared_ptr<TableModel> target;
  std::shared_ptr<TableModel> drafter;
};

EfficiencyCase At(int seed) {
  return {Toy({.seed = seed, .sharpness = 0.5 + 0.1 * seed}),
          Toy({.seed = seed + 100,
               .sharpness = 0.5 + 0.07 * seed,
               .zeros = seed % 3 == 0})};
}

double Tokens(const EfficiencyCase& at, const std::string& verifier,
              const std::string& policy,
              DrawKind draw_kind = DrawKind::kIndependent) {
  return OneRound(One(at.target, verifier, policy, at.drafter, draw_kind))
      .expected_tokens_per_round;
}

TEST(Efficiency, BlockIsNeverBelowTokenByToken) {
  double gain = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const double block = Tokens(At(seed), "block", "chain {nodes: 3}");
    const double chain = Tokens(At(seed), "leviathan", "chain {nodes: 3}");
    EXPECT_GE(block, chain - kRounding) << seed;
    gain += block - chain;
  }
  EXPECT_GT(gain, 1e-3) << "it should gain somewhere";
}

TEST(Efficiency, RejectionIsNeverAboveSpeculativeSampling) {
  double loss = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const double rejection = Tokens(At(seed), "rejection", "chain {nodes: 3}");
    const double chain = Tokens(At(seed), "leviathan", "chain {nodes: 3}");
    EXPECT_LE(rejection, chain + kRounding) << seed;
    loss += chain - rejection;
  }
  EXPECT_GT(loss, 1) << "it should lose, and not a little";
}

TEST(Efficiency, AtDepthOneKSeqIsNeverBelowMultiRound) {
  for (int seed = 1; seed <= kSeeds; ++seed)
    for (const char* policy :
         {"expansion {branching: [2]}", "expansion {branching: [3]}"})
      EXPECT_GE(Tokens(At(seed), "k_seq", policy),
                Tokens(At(seed), "multi_round", policy) - kRounding)
          << seed;
}

TEST(Efficiency, WithoutReplacementIsNeverBelowMultiRound) {
  for (int seed = 1; seed <= kSeeds; ++seed)
    for (const char* policy :
         {"expansion {branching: [2]}", "expansion {branching: [3]}",
          "expansion {branching: [2, 1]}"})
      EXPECT_GE(Tokens(At(seed), "without_replacement", policy,
                       DrawKind::kWithoutReplacement),
                Tokens(At(seed), "multi_round", policy) - kRounding)
          << seed << " " << policy;
}

TEST(Efficiency, TraversalIsNeverBelowMultiRoundOnTheSameTree) {
  double gain = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    for (DrawKind draw_kind :
         {DrawKind::kIndependent, DrawKind::kWithoutReplacement}) {
      const char* policy = "expansion {branching: [2, 1]}";
      const double leaves = Tokens(At(seed), "traversal", policy, draw_kind);
      const double rounds = Tokens(At(seed), "multi_round", policy, draw_kind);
      EXPECT_GE(leaves, rounds - kRounding) << seed;
      gain += leaves - rounds;
    }
  }
  EXPECT_GT(gain, 1e-3) << "it should gain somewhere";
}

TEST(Efficiency, NoSchemeExceedsTheUpperBound) {
  Tally tally;
  for (int seed = 1; seed <= 8; ++seed) {
    const EfficiencyCase at = At(seed);
    for (const std::string& verifier : LosslessVerifiers(1)) {
      const bool chain = VerifierOf(verifier)->traits().chain;
      const Pairing pairing =
          One(at.target, verifier,
              chain ? "chain {nodes: 2}" : "expansion {branching: [2, 1]}",
              at.drafter);
      EXPECT_LE(OneRound(pairing).expected_tokens_per_round,
                UpperBound(pairing) + kRounding)
          << seed << " " << verifier;
      tally.Count(CaseResult::kProven);
    }
  }
  ExpectCounts(tally, 80);
}

TEST(Efficiency, OneDrawReachesTheUpperBoundAtDepthOne) {
  for (int seed = 1; seed <= 8; ++seed) {
    const EfficiencyCase at = At(seed);
    const Pairing pairing =
        One(at.target, "leviathan", "chain {nodes: 1}", at.drafter);
    EXPECT_NEAR(OneRound(pairing).expected_tokens_per_round,
                UpperBound(pairing), kRounding);
  }
}

}  // namespace
}  // namespace banyan
