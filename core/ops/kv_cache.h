// KvCache: keys and values of one layer of one sequence, by slot.
#ifndef BANYAN_CORE_OPS_KV_CACHE_H_
#define BANYAN_CORE_OPS_KV_CACHE_H_

#include <memory>
#include <vector>

#include "core/device/buffer.h"
#include "core/ops/tensor.h"

namespace banyan {

// How numbers lie in the two buffers is the backend's business: only its ops
// read and write them. A slot that was never stored holds finite numbers.
struct KvCache {
  std::unique_ptr<Buffer> keys;
  std::unique_ptr<Buffer> values;
  int kv_heads = 0;
  int head_dim = 0;
  int capacity = 0;  // slots
  // Whether products with what it holds may take it in bfloat16 parts, in an
  // order of sums that says so (BackendFacts::sums): of a model with bfloat16
  // weights.
  bool may_split = false;
};

// Stores row i of `keys` and `values` (kv_heads * head_dim numbers each) in
// slot first_slot + i. Requires room.
struct StoreKvArgs {
  Tensor keys;
  Tensor values;
  KvCache* cache;
  int first_slot;
  Live length = {};  // to be added to first_slot
};

// Moves slot slots[i] to slot first_slot + i, which is not above it; `slots`
// ascend. With `from`, another cache of as many heads of the same size, slot
// slots[i] of that is copied, and `slots` are in any order.
struct MoveKvArgs {
  KvCache* cache;
  std::vector<int> slots;
  int first_slot;
  const KvCache* from = nullptr;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_KV_CACHE_H_
