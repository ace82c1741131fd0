// Random trees of pending tokens after a committed prefix, laid on a backend
// for attention.
#ifndef BANYAN_TESTS_CORE_OPS_ATTENTION_TREE_H_
#define BANYAN_TESTS_CORE_OPS_ATTENTION_TREE_H_

#include <string>
#include <vector>

#include "core/ops/backend.h"
#include "core/ops/op_args.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"

namespace banyan {

struct AttentionShape {
  int heads;
  int kv_heads;
  int head_dim;
  int committed;
  int first_pending;
  int batch;
  int window = 0;
  // Slot of the first pending token, in a cache of the pending tokens' own.
  // kBehind: after the prefix, in the prefix's cache.
  int pending_slot = 0;
};
constexpr int kBehind = -1;

// A tree of pending tokens after a committed prefix, and the queries of its
// last `batch` slots.
struct AttentionTree {
  std::string name() const;
  // The pending slots that slot `slot` sees, ascending.
  std::vector<int> Path(int slot) const;
  // What attention gives for these queries.
  Numbers Run(Backend& backend, int first, int count) const;
  // Queries [first, first + count) and what they read, laid on the desk.
  struct Laid {
    KvCache prefix, own;
    AttentionArgs args;
  };
  void Lay(Backend& backend, Desk& desk, int first, int count,
           Laid& laid) const;

  AttentionShape shape;
  Numbers queries;
  Numbers keys, values;                  // of the prefix
  Numbers pending_keys, pending_values;  // by slot
  std::vector<int> parents;              // of pending slots; -1: the prefix
  bool is_chain = false;
};

// Stores rows of keys and values in slots from `first` on.
void StoreRows(Backend& backend, Desk& desk, const Numbers& keys,
               const Numbers& values, int first, KvCache& cache);

// Returns a tree with scores of up to about `size`; deep and bushy ones in
// turn.
AttentionTree RandomTree(const AttentionShape& shape, float size, Dice& dice);

// Returns the same token as the only pending one, its ancestors committed.
AttentionTree Committed(const AttentionTree& tree, int row);

}  // namespace banyan

#endif  // BANYAN_TESTS_CORE_OPS_ATTENTION_TREE_H_
