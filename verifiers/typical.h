// Typical acceptance (Medusa). Lossy.
#ifndef BANYAN_VERIFIERS_TYPICAL_H_
#define BANYAN_VERIFIERS_TYPICAL_H_

#include "verifiers/row.h"

namespace banyan {

// Keys: `epsilon`, `delta`, `next` (sampled or argmax).
VerifierRow TypicalRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_TYPICAL_H_
