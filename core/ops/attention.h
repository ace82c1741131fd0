// Attention: each token looks at the committed prefix and at its ancestors.
#ifndef BANYAN_CORE_OPS_ATTENTION_H_
#define BANYAN_CORE_OPS_ATTENTION_H_

#include "core/ops/kv_cache.h"
#include "core/ops/tensor.h"

namespace banyan {

// Pending token j has slot pending_slot + j of `pending`, which may be `prefix`
// itself, after the committed tokens. Row i of `queries` (heads * head_dim
// numbers, already scaled) is pending token first_pending + i. The row sees
// slots 0 .. committed - 1 of `prefix`, and the pending tokens j whose bit is
// set in its row of `visible`: bit j % 32 of word j / 32, `visible_words` words
// a row. A row sees itself and its ancestors, so the number of set bits is its
// depth + 1. With a `window` the row sees only the last `window` of all these.
// Query head h reads key head h / (heads / kv_heads).
//
// y[i][head] = sum over seen slots of p * value, p = exp(s - max s) and the
// whole divided by the sum of the p, where s is the product of query and key.
//
// Seen slots have positions: a slot of the prefix is its own position, the j-th
// seen pending slot has committed + j. A row's result depends, bit for bit, on
// what is seen at which position, and not on which slots the pending tokens
// have. Slots that are not seen add nothing, as long as what is stored there is
// finite.
struct AttentionArgs {
  Tensor queries;
  int heads;
  const KvCache* prefix;
  int committed;
  const KvCache* pending;
  int pending_slot;
  int first_pending;
  Ints visible;
  int visible_words;
  int window = 0;  // 0: all
  Tensor y;
  Live length = {};  // to be added to committed and pending_slot
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_ATTENTION_H_
