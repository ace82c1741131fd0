// Every lossless verifier with every compatible policy keeps the target
// distribution. The check enumerates all outcomes. Rows come from the
// catalogues, so a new row is checked without further code. Each pairing prints
// its number of leaves. Each test prints how many pairings it proved, found
// incompatible and left out, and fails if too few are proven.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/common.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/proof.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/drafting.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"
#include "tree/method_policy.h"
#include "tree/policies/catalogue.h"
#include "tree/verdict.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

std::vector<std::string> Specs(bool lossy) {
  std::vector<std::string> specs;
  for (const std::string& spec : VerifierSpecs())
    if ((VerifierOf(spec)->traits().exactness == Exactness::kLossy) == lossy)
      specs.push_back(spec);
  return specs;
}

std::vector<std::string> PolicySpecs() {
  std::vector<std::string> specs;
  for (const PolicyRow& row : PolicyCatalogue())
    for (absl::string_view example : row.examples)
      specs.push_back(absl::StrCat(row.name, " ", example));
  return specs;
}

void Prove(const Pairing& pairing, const ProofSize& size, Tally& tally) {
  const absl::StatusOr<Proof> proof =
      Prove({Describe(pairing), pairing.target, size}, Build(pairing));
  ASSERT_TRUE(proof.ok()) << proof.status();
  tally.Count(proof->result);
  if (proof->result != CaseResult::kProven) return;
  for (const PairedTrunk& trunk : pairing.trunks)
    PrintProven(pairing.verifier, "policy", trunk.policy);
  if (pairing.trunks.size() > 1)
    PrintProven(pairing.verifier, "trunks",
                PolicyOf(pairing.trunks.front().policy)->of_method() != nullptr
                    ? "taking_turns"
                    : "merged");
}

constexpr DrawKind kLaws[] = {DrawKind::kIndependent,
                              DrawKind::kWithoutReplacement,
                              DrawKind::kDeterministic};

double Temperature(const std::string& verifier) {
  return verifier == "greedy" ? 0 : 1;
}

class EveryVerifier
    : public testing::TestWithParam<std::tuple<std::string, ProofSize>> {};

TEST_P(EveryVerifier, KeepsTheTargetLawWithEveryLawfulPolicy) {
  const auto& [verifier, size] = GetParam();
  Tally tally;
  for (const std::string& policy : PolicySpecs()) {
    for (DrawKind draw_kind : kLaws) {
      // With zeros the drafter's support misses tokens of the target.
      for (bool zeros : {false, true}) {
        const auto drafter =
            Toy({.vocab_size = size.letters, .seed = 2, .zeros = zeros});
        Prove({.target = Toy({.vocab_size = size.letters, .seed = 1}),
               .verifier = verifier,
               .trunks = {{policy, drafter, draw_kind}},
               .sampling = {.temperature = Temperature(verifier)}},
              size, tally);
      }
    }
  }
  ExpectCounts(tally, 20);
}

// Two and three trunks, of equal and of different draw kinds, one of them
// deeper.
TEST_P(EveryVerifier, KeepsTheTargetLawOfMergedTrunks) {
  const auto& [verifier, size] = GetParam();
  Tally tally;
  const auto model = [letters = size.letters](int seed, bool zeros) {
    return Toy({.vocab_size = letters, .seed = seed, .zeros = zeros});
  };
  for (DrawKind first : kLaws) {
    for (DrawKind second : kLaws) {
      Prove({.target = model(1, false),
             .verifier = verifier,
             .trunks = {{"expansion {branching: [2]}", model(2, true), first},
                        {"chain {nodes: 2}", model(3, false), second}},
             .sampling = {.temperature = Temperature(verifier)}},
            size, tally);
    }
  }
  Prove(
      {.target = model(1, false),
       .verifier = verifier,
       .trunks = {{"chain {nodes: 1}", model(2, false), DrawKind::kIndependent},
                  {"chain {nodes: 1}", model(3, true),
                   DrawKind::kDeterministic},
                  {"adaptive_chain {nodes: 1, on_low: drop}", model(4, false),
                   DrawKind::kWithoutReplacement}},
       .sampling = {.temperature = Temperature(verifier)}},
      size, tally);
  ExpectCounts(tally, 0);
}

// Two and three drafters under the policy that shapes the tree of all, of every
// draw kind: cheap levels and passes, so that all of them draw.
TEST_P(EveryVerifier, KeepsTheTargetLawOfDraftersThatTakeTurns) {
  const auto& [verifier, size] = GetParam();
  Tally tally;
  const auto model = [letters = size.letters](int seed, bool zeros) {
    return Toy({.vocab_size = letters, .seed = seed, .zeros = zeros});
  };
  const std::string two =
      "cost_aware {nodes: 3, memory: 2, target_ms: {1: 10, 4: 10.2}, draft_ms: "
      "[0.1, 0.2], alone: [[[0.5, 0.3], [0.4]], [[0.4, 0.4], [0.5]]], "
      "together: [0.3, 0.25, 0.25, 0.2]}";
  const std::string fixed =
      "joint {nodes: 3, target_ms: {1: 10, 4: 10.1}, draft_ms: [0.1, 0.1], "
      "alone: [[[0.5, 0.3], [0.4]], [[0.4, 0.4], [0.5]]], together: [0.3, "
      "0.25, 0.25, 0.2]}";
  for (const std::string& policy : {two, fixed})
    for (DrawKind first : kLaws)
      for (DrawKind second : kLaws)
        Prove({.target = model(1, false),
               .verifier = verifier,
               .trunks = {{policy, model(2, true), first},
                          {policy, model(3, false), second}},
               .sampling = {.temperature = Temperature(verifier)}},
              size, tally);
  const std::string three =
      "cost_aware {nodes: 3, levels: 2, target_ms: {1: 10, 3: 10, 4: 10.1}, "
      "draft_ms: [0.1, 0.1, 0.1], alone: [[[0.5]], [[0.4]], [[0.3, 0.2]]], "
      "together: [0.2, 0.2, 0.1, 0.1, 0.2, 0.1, 0.05, 0.05], agree_right: "
      "[[1, 0.5, 0.4], [0.5, 1, 0.4], [0.5, 0.5, 1]], agree_wrong: "
      "[[1, 0.1, 0.2], [0.2, 1, 0.1], [0.1, 0.1, 1]]}";
  Prove({.target = model(1, false),
         .verifier = verifier,
         .trunks = {{three, model(2, false), DrawKind::kIndependent},
                    {three, model(3, true), DrawKind::kDeterministic},
                    {three, model(4, false), DrawKind::kWithoutReplacement}},
         .sampling = {.temperature = Temperature(verifier)}},
        size, tally);
  ExpectCounts(tally, 0);
}

// The rule is applied at every node with the node's own path as history.
TEST_P(EveryVerifier, KeepsTheLawOfASamplingRule) {
  const auto& [verifier, size] = GetParam();
  Tally tally;
  const SamplingOptions rules[] = {
      {.temperature = 0.4},
      {.temperature = 0},
      {.temperature = 1, .top_k = 2},
      {.temperature = 1.5, .top_p = 0.7},
      {.temperature = 1, .min_p = 0.3},
      {.repetition_penalty = 3, .temperature = 1},
      {.banned = {1}, .temperature = 1},
  };
  for (SamplingOptions rule : rules) {
    if (verifier == "greedy") rule.temperature = 0;
    for (const char* policy :
         {"chain {nodes: 2}", "expansion {branching: [2, 1]}"}) {
      const Pairing pairing = {
          .target = Toy({.vocab_size = size.letters, .seed = 5}),
          .verifier = verifier,
          .trunks = {{policy, Toy({.vocab_size = size.letters, .seed = 6})}},
          .sampling = rule};
      Prove(pairing, size, tally);
    }
  }
  ExpectCounts(tally, 7);
}

// Draws shared by cousins are exact for verifiers that judge from the root
// down, if the draft distribution does not depend on the path.
TEST_P(EveryVerifier, KeepsTheTargetLawOfSharedDraws) {
  const auto& [verifier, size] = GetParam();
  Tally tally;
  Prove({.target = Toy({.vocab_size = size.letters, .seed = 1}),
         .verifier = verifier,
         .trunks = {{"expansion {branching: [2, 1], share_draws: true}",
                     DepthToy({.vocab_size = size.letters, .seed = 2})}},
         .sampling = {.temperature = Temperature(verifier)}},
        size, tally);
  ExpectCounts(tally, 0);
}

TEST(LossyVerifiers, SaySoAndAreTheOnlyOnesNotProven) {
  const std::vector<std::string> lossy = Specs(/*lossy=*/true);
  EXPECT_THAT(lossy,
              testing::ElementsAre(
                  "typical", "typical {next: argmax}", "lenience",
                  "lenience {form: argmax}", "bild", "bild {next: argmax}",
                  "top_beta", "top_beta {next: argmax}", "blockwise_top_k",
                  "blockwise_top_k {next: argmax}", "blockwise_distance",
                  "blockwise_distance {next: argmax}"));
  for (const std::string& verifier : lossy) {
    absl::StatusOr<Decoder> decoder =
        Build({.target = Toy({}),
               .verifier = verifier,
               .trunks = {{"chain {nodes: 1}", Toy({.seed = 1})}}});
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    EXPECT_FALSE(IsLossless(decoder->method())) << verifier;
  }
}

std::string TestName(
    const testing::TestParamInfo<std::tuple<std::string, ProofSize>>& info) {
  std::string name;
  for (char c : std::get<0>(info.param))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return absl::StrCat(name, "_", NameOf(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(
    Catalogue, EveryVerifier,
    testing::Combine(testing::ValuesIn(Specs(/*lossy=*/false)),
                     // The horizon covers the tokens the rounds can emit, as
                     // far as the number of strings allows.
                     testing::Values(ProofSize{3, 1, 4, 200'000, true},
                                     ProofSize{4, 1, 3, 200'000, true},
                                     ProofSize{2, 2, 6, 200'000, false},
                                     ProofSize{3, 2, 4, 10'000, false})),
    TestName);

}  // namespace
}  // namespace banyan
