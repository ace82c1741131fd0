// Multi-round speculative sampling on a tree (SpecInfer).
#ifndef BANYAN_VERIFIERS_MULTI_ROUND_H_
#define BANYAN_VERIFIERS_MULTI_ROUND_H_

#include "verifiers/row.h"

namespace banyan {

// Keys: `order`, drawn or shuffled (no draws without replacement).
VerifierRow MultiRoundRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_MULTI_ROUND_H_
