// The lossy rules of blockwise parallel decoding. (The lossless one is greedy.)
#ifndef BANYAN_VERIFIERS_BLOCKWISE_H_
#define BANYAN_VERIFIERS_BLOCKWISE_H_

#include "verifiers/row.h"

namespace banyan {

// Keys: `k`, `next` (sampled or argmax). By default a token of the best two.
VerifierRow BlockwiseTopKRow();

// Keys: `epsilon`, in token ids, `next` (sampled or argmax). By default the
// best token and its neighbours.
VerifierRow BlockwiseDistanceRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_BLOCKWISE_H_
