// The rows of the verifiers: each is defined in the source of its verifier, and
// listed by the catalogue.
#ifndef BANYAN_VERIFIERS_ROWS_H_
#define BANYAN_VERIFIERS_ROWS_H_

#include "verifiers/row.h"

namespace banyan {

// BiLD's rollback (Big Little Decoder). Lossy.
// Keys: `rollback`, in nats, `next` (sampled or argmax). Its authors call 2 to
// 5 nats normal; the default is 3, a token of mass .05.
VerifierRow BildRow();

// Block verification of a chain.
// No keys.
VerifierRow BlockRow();

// The lossy rules of blockwise parallel decoding. (The lossless one is greedy.)
// Keys: `k`, `next` (sampled or argmax). By default a token of the best two.
VerifierRow BlockwiseTopKRow();

// Keys: `epsilon`, in token ids, `next` (sampled or argmax). By default the
// best token and its neighbours.
VerifierRow BlockwiseDistanceRow();

// Greedy verification: exact argmax decoding.
// No keys.
VerifierRow GreedyRow();

// K-SEQ verification (SpecTr).
// No keys.
VerifierRow KSeqRow();

// Lenient acceptance (Leviathan et al., appendix). Lossy.
// Keys: `lenience` in (0, 1], `form` (sampling or argmax).
VerifierRow LenienceRow();

// Speculative sampling on a chain, token by token.
// No keys.
VerifierRow LeviathanRow();

// Match verification: keep a drafted token if the target draws it too.
// No keys.
VerifierRow MatchRow();

// Multi-round speculative sampling on a tree (SpecInfer).
// Keys: `order`, drawn or shuffled (no draws without replacement).
VerifierRow MultiRoundRow();

// Point-mass verification: every candidate judged as a certainty.
// No keys.
VerifierRow PointMassRow();

// Rejection sampling on a chain.
// No keys.
VerifierRow RejectionRow();

// SpecDec's relaxed verification. Lossy.
// Keys: `beta`, `tolerance`, in nats, `next` (sampled or argmax). By default a
// token among the best three, and at least e^-1 = .37 times as probable as the
// best.
VerifierRow TopBetaRow();

// Traversal verification: a tree judged from its leaves.
// No keys.
VerifierRow TraversalRow();

// Typical acceptance (Medusa). Lossy.
// Keys: `epsilon`, `delta`, `next` (sampled or argmax).
VerifierRow TypicalRow();

// Multi-round verification of draws without replacement (Sequoia).
// No keys.
VerifierRow WithoutReplacementRow();

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_ROWS_H_
