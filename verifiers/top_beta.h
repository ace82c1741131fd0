// SpecDec's relaxed verification. Lossy.
#ifndef BANYAN_VERIFIERS_TOP_BETA_H_
#define BANYAN_VERIFIERS_TOP_BETA_H_

#include "verifiers/row.h"

namespace banyan {

// Keys: `beta`, `tolerance`, in nats, `next` (sampled or argmax). By default a
// token among the best three, and at least e^-1 = .37 times as probable as the
// best.
VerifierRow TopBetaRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_TOP_BETA_H_
