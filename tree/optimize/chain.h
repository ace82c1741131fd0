// The chain of largest predicted speed on measured hardware.
//
// Claim. If the token at depth d of a chain is accepted with probability p_d
// once all before it were, a chain of n yields 1 + p_1 + p_1 p_2 + .. +
// p_1 .. p_n tokens and takes n levels of the draft and a target pass of n + 1
// tokens. Of the lengths 1 to the number of depths given, the one with the
// most tokens per millisecond is chosen; the shortest on ties. In the rounds in
// which the drafter finds nothing, 1 - drafted of all, decoding is plain.
// Sequences that share every pass multiply its tokens, as in hardware.h;
// draft_ms is then of a level of all of them.
#ifndef BANYAN_TREE_OPTIMIZE_CHAIN_H_
#define BANYAN_TREE_OPTIMIZE_CHAIN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tree/optimize/cost_curve.h"

namespace banyan {

struct ChainChoice {
  int length = 0;
  double expected_tokens = 1;  // of a round
  double speedup = 1;  // over plain decoding; below 1 where no chain pays
};

// Fails without probabilities from 0 to 1, with a negative draft_ms, with
// `drafted` outside 0 to 1, and where
// the curve does not cover 1 to acceptance.size() + 1, times `sequences`.
absl::StatusOr<ChainChoice> FastestChain(const std::vector<double>& acceptance,
                                         const CostCurve& target_ms,
                                         double draft_ms, double drafted = 1,
                                         int sequences = 1);

}  // namespace banyan

#endif  // BANYAN_TREE_OPTIMIZE_CHAIN_H_
