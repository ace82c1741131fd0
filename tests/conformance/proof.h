// The proof of one method, by exact enumeration.
#ifndef BANYAN_TESTS_CONFORMANCE_PROOF_H_
#define BANYAN_TESTS_CONFORMANCE_PROOF_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "decode/decoder.h"
#include "tests/support/tally.h"

namespace banyan {

// How methods are enumerated. One that needs more leaves is left to the smaller
// sizes; `all_fit` says that none may.
struct ProofSize {
  int letters;
  int rounds;
  int horizon;
  std::int64_t max_leaves;
  bool all_fit;
};

// "3Letters1Rounds", for names of tests.
std::string NameOf(const ProofSize& size);

// The claim that a method on this target keeps the target distribution.
struct Claim {
  std::string what;  // for messages
  std::shared_ptr<TableModel> target;
  ProofSize size;
  std::vector<TokenId> prompt = {};  // what the strings follow
};

struct Proof {
  CaseResult result = CaseResult::kProven;
  std::int64_t leaves = 0;      // of what is proven
  double tokens_per_round = 0;  // expected of the first, likewise
  double accepted = 0;          // expected over all its rounds, likewise
};

// Checks a claim by enumeration and prints the number of leaves. Returns
//  - kProven;
//  - kUnlawful, if the decoder was refused as incompatible;
//  - kTooLarge, if the enumeration takes more leaves than the size allows;
//  - an error for everything else, on which the caller must fail: malformed
//    parts, a method that claims to be lossy, an enumeration that fails or does
//    not fit where all must fit, and an output distribution that is not the
//    target's.
absl::StatusOr<Proof> Prove(const Claim& claim,
                            absl::StatusOr<Decoder> decoder);

// Prints the line from which scripts/proofs.py makes one of the proof record:
// `proven: VERIFIER KIND PART`, of the names of the specs (decode/proofs.h).
void PrintProven(const std::string& verifier, const std::string& kind,
                 const std::string& part);

}  // namespace banyan

#endif  // BANYAN_TESTS_CONFORMANCE_PROOF_H_
