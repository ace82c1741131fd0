// What is proven, what is unlawful, what is left out, and that everything else
// is an error.
#include "tests/conformance/proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "configs/loader/loader.h"
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
      Of("k_seq", "expand_rerank {top_k: 2, depth: 2, total: 3}");
  for (const Pairing& refused :
       {Of("leviathan", "expansion {branching: [2]}"),
        Of("greedy", "chain {gamma: 1}"), no_common_law}) {
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
        Of("multi_round", "chain {gamma: two}"),
        Of("multi_round", "chian {gamma: 2}"),
        Of("multi_round", "chain {gamma: 2"),
        Of("multi_round {order: shuffeld}", "chain {gamma: 2}"),
        Of("leviatan", "chain {gamma: 2}")})
    EXPECT_THAT(ErrorOf(ProofOf(malformed)), HasSubstr("INVALID_ARGUMENT"))
        << Describe(malformed);
}

TEST(Proof, OfALossyMethodIsAnError) {
  EXPECT_THAT(ErrorOf(ProofOf(Of("typical", "chain {gamma: 2}"))),
              HasSubstr("says it is lossy"));
}

TEST(Proof, OfAWrongLawIsAnError) {
  const Pairing pairing = Of("multi_round", "chain {gamma: 2}");
  const auto control = FindControl(Params::Scalar("residual_is_target"));
  ASSERT_TRUE(control.ok()) << control.status();
  const auto section = ParseYaml("{name: multi_round}", "verifier");
  ASSERT_TRUE(section.ok()) << section.status();
  auto wrong = BuildWith(
      pairing,
      (*control)->wrap(BuildVerifier(*section).value(), SamplingRule()));
  EXPECT_THAT(ErrorOf(Prove({"it", pairing.target, kSmall}, std::move(wrong))),
              HasSubstr("it, 3 letters, 1 round(s): the law is off by 0."));
}

}  // namespace
}  // namespace banyan
