#include "decode/decoder.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/sequence.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/tally.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/policies/catalogue.h"
#include "verifiers/catalogue.h"

namespace banyan {
namespace {

const char* const kPolicies[] = {
    "chain {nodes: 3}",
    "sequences {width: 3, levels: 3}",
    "expansion {branching: [3, 2]}",
    "static {paths: [[0], [1], [0, 0], [0, 0, 0]]}",
    "sequoia {acceptance: [0.6, 0.2], nodes: 6}",
    "best_first {most_draws: 7}",
    "expand_rerank {width: 2, levels: 3, nodes: 5}",
    "adaptive_chain {nodes: 2, on_low: drop, adjust: true}",
    "auto {acceptance: [0.6, 0.2], nodes: 6, target_ms: {1: 1, 7: 1.2}}",
    R"(cost_aware {nodes: 6, target_ms: {1: 1, 7: 1.1}, draft_ms: [0.01],
                   alone: [[[0.6, 0.5, 0.4]]]})",
    R"(joint {nodes: 6, target_ms: {1: 1, 7: 1.1}, draft_ms: [0.01],
              alone: [[[0.6, 0.2], [0.5, 0.2], [0.4]]]})"};

Prompt PromptOf(const TableModel& target, std::uint32_t id) {
  return {.id = id,
          .tokens = {target.begin(), static_cast<TokenId>(id % 5),
                     static_cast<TokenId>(id % 3)}};
}

// Returns methods of every lossless verifier with every policy it takes. The
// drafter is close to the target, so some drafts are accepted. Counts the
// incompatible pairs.
std::vector<Pairing> LosslessPairings(int seed, double temperature,
                                      Tally& tally) {
  std::vector<Pairing> pairings;
  for (const std::string& verifier : LosslessVerifiers(temperature)) {
    for (const char* policy : kPolicies) {
      const Pairing pairing = {
          .target = Toy({.vocab_size = 5, .seed = seed}),
          .verifier = verifier,
          .trunks = {{policy, Toy({.vocab_size = 5,
                                   .seed = seed,
                                   .sharpness = 1.2,
                                   .zeros = seed % 2 == 1})}},
          .sampling = {.temperature = temperature}};
      const absl::Status built = Build(pairing).status();
      if (IsRefusal(built)) {
        tally.Count(CaseResult::kUnlawful);
        continue;
      }
      EXPECT_TRUE(built.ok()) << built;
      if (built.ok()) pairings.push_back(pairing);
    }
  }
  return pairings;
}

TEST(Decoder, EveryLosslessMethodEqualsPlainDecodingAtTemperatureZero) {
  const StopRule stop = {.max_new_tokens = 25};
  int longest = 0;
  Tally tally;
  for (int seed = 0; seed < 6; ++seed) {
    for (const Pairing& pairing : LosslessPairings(seed, 0, tally)) {
      const Prompt prompt =
          PromptOf(*pairing.target, static_cast<std::uint32_t>(seed));
      const Decoded decoded = MustDecode(pairing, prompt, stop, 3);
      EXPECT_EQ(
          decoded.tokens,
          MustDecodePlainly(*pairing.target, SamplingRule({.temperature = 0}),
                            prompt, stop))
          << Describe(pairing) << ", seed " << seed;
      tally.Count(CaseResult::kProven);
      for (const RoundRecord& round : decoded.rounds)
        longest =
            std::max(longest, static_cast<int>(round.verdict.path.size()));
    }
  }
  EXPECT_GE(longest, 3) << "nothing of length was ever accepted";
  ExpectCounts(tally, 450);
}

TEST(Decoder, TwoTrunksEqualPlainDecodingAtTemperatureZero) {
  const StopRule stop = {.max_new_tokens = 25};
  Tally tally;
  for (int seed = 0; seed < 6; ++seed) {
    for (Pairing pairing : LosslessPairings(seed, 0, tally)) {
      pairing.trunks.push_back(
          {"chain {nodes: 4}", Toy({.vocab_size = 5, .seed = seed})});
      absl::StatusOr<Decoder> decoder = Build(pairing);
      if (IsRefusal(decoder.status())) {
        tally.Count(CaseResult::kUnlawful);
        continue;
      }
      ASSERT_TRUE(decoder.ok()) << decoder.status();
      tally.Count(CaseResult::kProven);
      const Prompt prompt = PromptOf(*pairing.target, 1);
      EXPECT_EQ(
          MustDecode(*decoder, prompt, stop).tokens,
          MustDecodePlainly(*pairing.target, SamplingRule({.temperature = 0}),
                            prompt, stop))
          << Describe(pairing) << ", seed " << seed;
    }
  }
  ExpectCounts(tally, 372);
}

TEST(Decoder, WithoutTrunksItIsPlainDecodingToTheBit) {
  const StopRule stop = {.end_of_text = {4}, .max_new_tokens = 40};
  Tally tally;
  for (const VerifierRow& row : VerifierCatalogue()) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      const Pairing pairing = {
          .target = Toy({.vocab_size = 5, .seed = static_cast<int>(seed)}),
          .verifier = std::string(row.name)};
      absl::StatusOr<Decoder> decoder = Build(pairing);
      if (IsRefusal(decoder.status())) {  // greedy
        tally.Count(CaseResult::kUnlawful);
        continue;
      }
      ASSERT_TRUE(decoder.ok()) << decoder.status();
      tally.Count(CaseResult::kProven);
      const Prompt prompt = PromptOf(*pairing.target, seed);
      EXPECT_EQ(MustDecode(*decoder, prompt, stop, seed).tokens,
                MustDecodePlainly(*pairing.target, SamplingRule(), prompt, stop,
                                  seed))
          << row.name << ", seed " << seed;
    }
  }
  ExpectCounts(tally, 300);
}

TEST(Decoder, AnEmptyTreeIsPlainDecodingToTheBit) {
  const StopRule stop = {.max_new_tokens = 30};
  Tally tally;
  for (const std::string& verifier : LosslessVerifiers(1)) {
    const Pairing pairing = {
        .target = Toy({.vocab_size = 5}),
        .verifier = verifier,
        .trunks = {{"chain {nodes: 0}", Toy({.vocab_size = 5, .seed = 1})}}};
    const Prompt prompt = PromptOf(*pairing.target, 2);
    EXPECT_EQ(
        MustDecode(pairing, prompt, stop, 9).tokens,
        MustDecodePlainly(*pairing.target, SamplingRule(), prompt, stop, 9))
        << verifier;
    tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, 10);
}

// Field pitfall 24: zero accepted looks healthy.
TEST(Decoder, ADrafterEqualToTheTargetIsAlwaysFullyAccepted) {
  Tally tally;
  for (absl::string_view verifier :
       {"leviathan", "multi_round", "multi_round {order: shuffled}",
        "without_replacement", "k_seq", "block", "traversal", "rejection"}) {
    for (const char* policy : kPolicies) {
      if (absl::string_view(policy).find("drop") != absl::string_view::npos)
        continue;
      for (DrawKind draw_kind :
           {DrawKind::kIndependent, DrawKind::kWithoutReplacement}) {
        const auto target = Toy({.vocab_size = 5});
        absl::StatusOr<Decoder> decoder =
            Build({.target = target,
                   .verifier = std::string(verifier),
                   .trunks = {{policy, target, draw_kind}}});
        if (IsRefusal(decoder.status())) {
          tally.Count(CaseResult::kUnlawful);
          continue;
        }
        ASSERT_TRUE(decoder.ok()) << decoder.status();
        tally.Count(CaseResult::kProven);
        const Decoded decoded = MustDecode(*decoder, PromptOf(*target, 0),
                                           {.max_new_tokens = 60}, 1);
        for (const RoundRecord& round : decoded.rounds) {
          const std::vector<int>& path = round.verdict.path;
          ASSERT_FALSE(path.empty());
          EXPECT_TRUE(round.tree.node(path.back()).children.empty())
              << verifier << " + " << policy << " stopped at node "
              << path.back() << " of " << ToText(round.tree);
        }
      }
    }
  }
  ExpectCounts(tally, 54);
}

TEST(Decoder, IsTestedWithEveryPolicyOfTheCatalogue) {
  std::set<std::string> named, known;
  for (const std::string policy : kPolicies)
    named.insert(policy.substr(0, policy.find(' ')));
  for (const PolicyRow& row : PolicyCatalogue()) known.emplace(row.name);
  EXPECT_EQ(named, known);
}

TEST(Decoder, BeginAndStepDoWhatDecodeDoes) {
  const Pairing pairing = {.target = Toy({.vocab_size = 5}),
                           .verifier = "multi_round",
                           .trunks = {{"expansion {branching: [2, 2]}",
                                       Toy({.vocab_size = 5, .seed = 1})}}};
  const Prompt prompt = PromptOf(*pairing.target, 4);
  const StopRule stop = {.max_new_tokens = 30};
  absl::StatusOr<Decoder> decoder = Build(pairing);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  std::vector<TokenId> heard;
  SeededSource random(5);
  const absl::StatusOr<std::vector<TokenId>> tokens =
      decoder->Decode(prompt, stop, random, [&heard](const RoundRecord& round) {
        heard.insert(heard.end(), round.emitted.begin(), round.emitted.end());
      });
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_EQ(*tokens, heard) << "the sink hears every round";
  EXPECT_EQ(*tokens, MustDecode(*decoder, prompt, stop, 5).tokens);
}

}  // namespace
}  // namespace banyan
