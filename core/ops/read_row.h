// Law() and Best(): the distribution and the best tokens of a row of logits,
// without giving the whole row to the caller.
//
// A vocabulary of 128,000 is a megabyte of doubles; ten candidates, or what a
// truncating rule leaves, are a few hundred bytes.
#ifndef BANYAN_CORE_OPS_READ_ROW_H_
#define BANYAN_CORE_OPS_READ_ROW_H_

#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/ops/tensor.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

// One row of logits, a number per token. Tokens from `used` on only pad the
// vocabulary: their logits count as -infinity, whatever stands there. Of those
// before, one that is NaN or infinite came of a sum that overflowed: reading
// the row then fails as CheckFinite (core/prob/logits.h).
struct LogitRow {
  Tensor row;
  int used;
};

// What SamplingRule::Apply makes of the row, as doubles, after `history` and
// `path`; it fails where that does. The same to the last bit on every device.
struct LawArgs {
  LogitRow logits;
  const SamplingRule* rule;
  absl::Span<const TokenId> history;
  absl::Span<const TokenId> path;
};

// What BestLogits (core/prob/logits.h) gives of the row, exactly. Requires
// k >= 1.
struct BestArgs {
  LogitRow logits;
  int k;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_READ_ROW_H_
