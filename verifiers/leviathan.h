// Speculative sampling on a chain, token by token.
#ifndef BANYAN_VERIFIERS_LEVIATHAN_H_
#define BANYAN_VERIFIERS_LEVIATHAN_H_

#include "verifiers/row.h"

namespace banyan {

// No keys.
VerifierRow LeviathanRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_LEVIATHAN_H_
