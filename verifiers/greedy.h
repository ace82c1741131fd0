// Greedy verification: exact argmax decoding.
#ifndef BANYAN_VERIFIERS_GREEDY_H_
#define BANYAN_VERIFIERS_GREEDY_H_

#include "verifiers/row.h"

namespace banyan {

// No keys.
VerifierRow GreedyRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_GREEDY_H_
