// AttentionMass: how much of a token's attention each stretch of the committed
// prefix gets.
#ifndef BANYAN_CORE_OPS_ATTENTION_MASS_H_
#define BANYAN_CORE_OPS_ATTENTION_MASS_H_

#include "core/ops/kv_cache.h"
#include "core/ops/tensor.h"

namespace banyan {

// Row i of `queries` (heads * head_dim numbers, already scaled) looks at slots
// 0 .. committed - 1 of `prefix` and at nothing else. Chunk c of them is slots
// c * chunk .. (c + 1) * chunk - 1, the last one perhaps fewer. Query head h
// reads key head h / (heads / kv_heads).
//
// Row i * kv_heads + g of y belongs to key head g: its column c is the sum,
// over the query heads that read g, of (sum of the p of chunk c) / (sum of all
// p), where p = exp(s - max s) and s is the product of query and key, as in
// attention.h. So a row of y adds up to heads / kv_heads. Values are not read.
//
// Requires committed >= 1 and chunk >= 1; y has queries.rows * kv_heads rows of
// ChunksOf(committed, chunk) columns.
struct AttentionMassArgs {
  Tensor queries;
  int heads;
  const KvCache* prefix;
  int committed;
  int chunk;  // slots
  Tensor y;
};

constexpr int ChunksOf(int slots, int chunk) {
  return (slots + chunk - 1) / chunk;
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_ATTENTION_MASS_H_
