// Lenient acceptance (Leviathan et al., appendix). Lossy.
#ifndef BANYAN_VERIFIERS_LENIENCE_H_
#define BANYAN_VERIFIERS_LENIENCE_H_

#include "verifiers/row.h"

namespace banyan {

// Keys: `lenience` in (0, 1], `form` (sampling or argmax).
VerifierRow LenienceRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_LENIENCE_H_
