// Rejection sampling on a chain.
#ifndef BANYAN_VERIFIERS_REJECTION_H_
#define BANYAN_VERIFIERS_REJECTION_H_

#include "verifiers/row.h"

namespace banyan {

// No keys.
VerifierRow RejectionRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_REJECTION_H_
