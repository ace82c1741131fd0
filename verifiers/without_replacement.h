// Multi-round verification of draws without replacement (Sequoia).
#ifndef BANYAN_VERIFIERS_WITHOUT_REPLACEMENT_H_
#define BANYAN_VERIFIERS_WITHOUT_REPLACEMENT_H_

#include "verifiers/row.h"

namespace banyan {

// No keys.
VerifierRow WithoutReplacementRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_WITHOUT_REPLACEMENT_H_
