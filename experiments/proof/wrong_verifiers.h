// Verifiers that are wrong in one step each. Not for use: for comparison.
#ifndef BANYAN_EXPERIMENTS_PROOF_WRONG_VERIFIERS_H_
#define BANYAN_EXPERIMENTS_PROOF_WRONG_VERIFIERS_H_

#include <memory>

#include "verifiers/verifier.h"

namespace banyan {

// The rounds of multi_round, with a wrong residual after a refusal.
std::unique_ptr<Verifier> ResidualNotNormalised();
std::unique_ptr<Verifier> ResidualIsTarget();
// match that draws again after a miss.
std::unique_ptr<Verifier> DrawsAgainAfterMiss();
// block that stops at the first coin that fails.
std::unique_ptr<Verifier> StopsAtFirstFailure();
// traversal that divides by the draft mass that remains, instead of S + 1 - a;
// and traversal that forgets a refused node's other draws.
std::unique_ptr<Verifier> DividesByDraftMass();
std::unique_ptr<Verifier> ErasesRefusedDraws();

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_PROOF_WRONG_VERIFIERS_H_
