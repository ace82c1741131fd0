// Which claims are proven, incompatible or left out, and that every other
// result is an error.
#include "tests/conformance/proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/prob/sampling_rule.h"
#include "experiments/proof/controls.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"
#include "verifiers/catalogue.h"

namespace banyan {
namespace {

using testing::HasSubstr;

constexpr ProofSize kSmall = {3, 1, 3, 1'000, false};

Pairing Of(const std::string& verifier, const std::string& policy) {
  return {.target = Toy({.seed = 1}),
          .verifier = verifier,
          .trunks = {{policy, Toy({.seed = 2})}}};
}

absl::StatusOr<Proof> ProofOf(const Pairing& pairing,
                              const ProofSize& size = kSmall) {
  return Prove({Describe(pairing), pairing.target, size}, Build(pairing));
}

std::string ErrorOf(const absl::StatusOr<Proof>& proof) {
  EXPECT_FALSE(proof.ok());
  return std::string(proof.status().message());
}

TEST(Proof, OfALosslessMethodHasItsLeavesAndTokens) {
  const auto proof = ProofOf(Of("multi_round", "expansion {branching: [2]}"));
  ASSERT_TRUE(proof.ok()) << proof.status();
  EXPECT_EQ(proof->result, CaseResult::kProven);
  EXPECT_GT(proof->leaves, 9);
  EXPECT_GT(proof->tokens_per_round, 1.1);
}

TEST(Proof, OfWhatTheDecoderRefusesIsThatItIsUnlawful) {
  const Pairing no_common_law =
      Of("k_seq", "expand_rerank {width: 2, levels: 2, nodes: 3}");
  for (const Pairing& refused :
       {Of("leviathan", "expansion {branching: [2]}"),
        Of("greedy", "chain {nodes: 1}"), no_common_law}) {
    const auto proof = ProofOf(refused);
    ASSERT_TRUE(proof.ok()) << proof.status();
    EXPECT_EQ(proof->result, CaseResult::kUnlawful) << Describe(refused);
  }
}

TEST(Proof, OfMoreLeavesThanTheSizeHasIsLeftOut) {
  const Pairing large = Of("multi_round", "expansion {branching: [2, 2]}");
  const auto proof = ProofOf(large);
  ASSERT_TRUE(proof.ok()) << proof.status();
  EXPECT_EQ(proof->result, CaseResult::kTooLarge);
  EXPECT_EQ(proof->leaves, 0);
  ProofSize all_fit = kSmall;
  all_fit.all_fit = true;
  EXPECT_THAT(ErrorOf(ProofOf(large, all_fit)),
              HasSubstr("RESOURCE_EXHAUSTED"));
}

TEST(Proof, OfMalformedPartsIsAnError) {
  for (const Pairing& malformed :
       {Of("multi_round", "chain {gama: 2}"),
        Of("multi_round", "chain {nodes: two}"),
        Of("multi_round", "chian {nodes: 2}"),
        Of("multi_round", "chain {nodes: 2"),
        Of("multi_round {order: shuffeld}", "chain {nodes: 2}"),
        Of("leviatan", "chain {nodes: 2}")})
    EXPECT_THAT(ErrorOf(ProofOf(malformed)), HasSubstr("INVALID_ARGUMENT"))
        << Describe(malformed);
}

TEST(Proof, OfALossyMethodIsAnError) {
  EXPECT_THAT(ErrorOf(ProofOf(Of("typical", "chain {nodes: 2}"))),
              HasSubstr("says it is lossy"));
}

// "multi_round" broken as a control says, on a tree of two drafts a node.
std::string Broken(const ControlRow& control) {
  const auto section = ParseYaml("{name: multi_round}", "verifier");
  Check(section.ok(), section.status().message());
  const Pairing pairing = Of("multi_round", "expansion {branching: [2, 2]}");
  const auto proof = Prove(
      {"it", pairing.target, {3, 1, 3, 100'000, true}},
      BuildWith(pairing,
                control.wrap(BuildVerifier(*section).value(), SamplingRule())));
  return proof.ok() ? "" : std::string(proof.status().message());
}

TEST(Proof, OfAWrongDistributionTellsTheFirstOutputOfTheSmallestTree) {
  const auto control = FindControl(Params::Scalar("residual_is_target"));
  ASSERT_TRUE(control.ok()) << control.status();
  EXPECT_EQ(
      Broken(**control),
      "OFF by 0.0322696: it, 3 letters, 1 round(s)\n"
      "  smallest tree: chain {nodes: 1}, drafted 3(0)\n"
      "  first output: 0, with probability 0.140032, the target's is 0.093917\n"
      "  like the control residual_is_target (1.00 of 1): After a refusal cur "
      "is p again.");
}

TEST(Proof, OfAWrongDistributionNamesTheControlThatIsLikeIt) {
  int off = 0;
  for (const ControlRow& control : ControlCatalogue()) {
    if (control.wrap == nullptr) continue;
    const std::string message = Broken(control);
    if (message.empty()) continue;  // changes nothing of one trunk's draws
    ++off;
    EXPECT_THAT(message,
                HasSubstr(absl::StrCat("like the control ", control.name, " ")))
        << control.name;
  }
  EXPECT_GE(off, 9);
}

TEST(Proof, OfAMistakeThatNoControlHasSaysSo) {
  // The decoder is right; the claim is of another target than it decodes.
  const Pairing pairing = Of("multi_round", "chain {nodes: 1}");
  EXPECT_THAT(ErrorOf(Prove({"it", Toy({.seed = 9}), kSmall}, Build(pairing))),
              HasSubstr("like none of the controls"));
}

}  // namespace
}  // namespace banyan
