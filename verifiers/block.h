// Block verification of a chain.
#ifndef BANYAN_VERIFIERS_BLOCK_H_
#define BANYAN_VERIFIERS_BLOCK_H_

#include "verifiers/row.h"

namespace banyan {

// No keys.
VerifierRow BlockRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_BLOCK_H_
