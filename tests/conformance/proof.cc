#include "tests/conformance/proof.h"

#include <iostream>
#include <utility>

#include "core/base/common.h"
#include "decode/method.h"
#include "experiments/proof/exact_law.h"
#include "tests/conformance/fault.h"
#include "tests/conformance/pairing.h"

namespace banyan {
namespace {

absl::Status Failed(const std::string& what, const absl::Status& why) {
  return absl::InternalError(absl::StrCat(what, ": ", why.ToString()));
}

absl::StatusOr<Proof> Judge(const Claim& claim, const std::string& what,
                            Decoder& decoder) {
  const LawOptions options = {.horizon = claim.size.horizon,
                              .rounds = claim.size.rounds,
                              .max_branches = claim.size.max_leaves,
                              .prompt = claim.prompt};
  const absl::StatusOr<ExactLaw> exact =
      ComputeExactLaw(*claim.target, decoder, options);
  if (exact.status().code() == absl::StatusCode::kResourceExhausted &&
      !claim.size.all_fit) {
    std::cout << "  " << what << ": more than " << claim.size.max_leaves
              << " leaves, left to the smaller sizes\n";
    return Proof{.result = CaseResult::kTooLarge};
  }
  if (!exact.ok()) return Failed(what, exact.status());
  // Written so that NaN fails.
  if (!(exact->max_abs_error <= kProofRounding))
    return absl::InternalError(
        absl::StrCat("OFF by ", exact->max_abs_error, ": ", what,
                     DescribeFault(*claim.target, decoder, options, *exact)));
  std::cout << "  PROVEN " << what << ": " << exact->branches
            << " leaves, error " << exact->max_abs_error << "\n";
  return Proof{.leaves = exact->branches,
               .tokens_per_round = exact->expected_tokens_per_round,
               .accepted = exact->expected_accepted};
}

}  // namespace

std::string NameOf(const ProofSize& size) {
  return absl::StrCat(size.letters, "Letters", size.rounds, "Rounds");
}

void PrintProven(const std::string& verifier, const std::string& kind,
                 const std::string& part) {
  const auto name = [](const std::string& spec) {
    return spec.substr(0, spec.find(' '));
  };
  std::cout << "proven: " << name(verifier) << " " << kind << " " << name(part)
            << "\n";
}

absl::StatusOr<Proof> Prove(const Claim& claim,
                            absl::StatusOr<Decoder> decoder) {
  const std::string what =
      absl::StrCat(claim.what, ", ", claim.size.letters, " letters, ",
                   claim.size.rounds, " round(s)");
  if (IsRefusal(decoder.status()))
    return Proof{.result = CaseResult::kUnlawful};
  if (!decoder.ok()) return Failed(what, decoder.status());
  if (!IsLossless(decoder->method()))
    return absl::InternalError(absl::StrCat(what, ": it says it is lossy"));
  return Judge(claim, what, *decoder);
}

}  // namespace banyan
