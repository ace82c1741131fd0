#include "tests/core/ops/attention_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/common.h"

namespace banyan {
namespace {

// Returns a cache with room for `slots` slots, rubbish in all of them.
KvCache Rubbish(Backend& backend, Desk& desk, const AttentionShape& shape,
                int slots) {
  KvCache cache = {.kv_heads = shape.kv_heads, .head_dim = shape.head_dim};
  const int columns = shape.kv_heads * shape.head_dim;
  absl::Status status = backend.ReserveKv(cache, slots, 0);
  EXPECT_TRUE(status.ok()) << status;
  status = backend.StoreKv({{.keys = desk.Room(cache.capacity, columns),
                             .values = desk.Room(cache.capacity, columns),
                             .cache = &cache,
                             .first_slot = 0}});
  EXPECT_TRUE(status.ok()) << status;
  return cache;
}

}  // namespace

std::string AttentionTree::name() const {
  return absl::StrCat(shape.heads, " heads on ", shape.kv_heads, " of ",
                      shape.head_dim, ", committed ", shape.committed,
                      ", first pending ", shape.first_pending, ", batch ",
                      shape.batch, ", window ", shape.window, ", pending slot ",
                      shape.pending_slot);
}

std::vector<int> AttentionTree::Path(int slot) const {
  std::vector<int> path;
  for (; slot >= 0; slot = parents[static_cast<std::size_t>(slot)])
    path.insert(path.begin(), slot);
  return path;
}

Numbers AttentionTree::Run(Backend& backend, int first, int count) const {
  Desk desk(backend);
  Laid laid;
  Lay(backend, desk, first, count, laid);
  const absl::Status status = backend.Attention({laid.args});
  EXPECT_TRUE(status.ok()) << status;
  return desk.Take(laid.args.y);
}

void StoreRows(Backend& backend, Desk& desk, const Numbers& keys,
               const Numbers& values, int first, KvCache& cache) {
  if (keys.rows == 0) return;
  const absl::Status status = backend.StoreKv({{.keys = desk.Put(keys),
                                                .values = desk.Put(values),
                                                .cache = &cache,
                                                .first_slot = first}});
  EXPECT_TRUE(status.ok()) << status;
}

void AttentionTree::Lay(Backend& backend, Desk& desk, int first, int count,
                        Laid& laid) const {
  const bool behind = shape.pending_slot == kBehind;
  const int slot = behind ? keys.rows : shape.pending_slot;
  if (keys.rows == 0 && !behind)  // nobody ever reserved it
    laid.prefix = {.kv_heads = shape.kv_heads, .head_dim = shape.head_dim};
  else
    laid.prefix =
        Rubbish(backend, desk, shape, keys.rows + pending_keys.rows + 1);
  laid.own = Rubbish(backend, desk, shape, slot + pending_keys.rows + 1);
  KvCache& pending = behind ? laid.prefix : laid.own;
  StoreRows(backend, desk, keys, values, 0, laid.prefix);
  StoreRows(backend, desk, pending_keys, pending_values, slot, pending);
  const int words = (pending_keys.rows + 31) / 32 + count % 2;
  std::vector<int> visible(static_cast<std::size_t>(count * words));
  for (int i = 0; i < count; ++i)
    for (int seen : Path(shape.first_pending + first + i)) {
      int& word = visible[static_cast<std::size_t>(i * words + seen / 32)];
      word = static_cast<int>(static_cast<unsigned>(word) |
                              1U << static_cast<unsigned>(seen % 32));
    }
  const int columns = shape.heads * shape.head_dim;
  const Place place = {.first = first % 3 * 5, .lanes = count % 2};
  // Counted from a number on the device, which may be far below its most.
  const int live = count % 3 == 0 ? 0 : std::min(shape.committed, slot);
  laid.args = {.queries = desk.Put(queries.Rows(first, count), place),
               .heads = shape.heads,
               .prefix = &laid.prefix,
               .committed = shape.committed - live,
               .pending = &pending,
               .pending_slot = slot - live,
               .first_pending = shape.first_pending + first,
               .visible = desk.List(visible),
               .visible_words = words,
               .window = shape.window,
               .y = desk.Room(count, columns, place),
               .is_chain = is_chain};
  if (live > 0) laid.args.length = {desk.List({live}), live + count % 2 * 700};
}

AttentionTree RandomTree(const AttentionShape& shape, float size, Dice& dice) {
  AttentionTree tree = {.shape = shape};
  tree.shape.pending_slot = dice.OneIn(2)   ? kBehind
                            : dice.OneIn(2) ? 0
                                            : dice.Below(40);
  const int columns = shape.kv_heads * shape.head_dim;
  const int slots = shape.first_pending + shape.batch;
  const float scale =
      std::sqrt(3 * size / std::sqrt(static_cast<float>(shape.head_dim)));
  tree.queries =
      SoftNumbers(shape.batch, shape.heads * shape.head_dim, scale, dice);
  tree.keys = SoftNumbers(shape.committed, columns, scale, dice);
  tree.pending_keys = SoftNumbers(slots, columns, scale, dice);
  tree.values = HardNumbers(shape.committed, columns, 8, dice);
  tree.pending_values = HardNumbers(slots, columns, 8, dice);
  const bool deep = dice.OneIn(2);
  for (int slot = 0; slot < slots; ++slot)
    tree.parents.push_back(deep && !dice.OneIn(8) ? slot - 1
                                                  : dice.Between(-1, slot - 1));
  return tree;
}

AttentionTree Committed(const AttentionTree& tree, int row) {
  AttentionTree alone = tree;
  std::vector<int> path = tree.Path(tree.shape.first_pending + row);
  const int self = path.back();
  path.pop_back();
  const int depth = static_cast<int>(path.size());
  const auto joined = [&](const Numbers& prefix, const Numbers& pending) {
    Numbers all(prefix.rows + depth, pending.columns);
    std::copy(prefix.data.begin(), prefix.data.end(), all.data.begin());
    for (int i = 0; i < depth; ++i)
      std::copy_n(pending.row(path[static_cast<std::size_t>(i)]),
                  pending.columns, all.row(prefix.rows + i));
    return all;
  };
  alone.keys = joined(tree.keys, tree.pending_keys);
  alone.values = joined(tree.values, tree.pending_values);
  alone.pending_keys = tree.pending_keys.Rows(self, 1);
  alone.pending_values = tree.pending_values.Rows(self, 1);
  alone.queries = tree.queries.Rows(row, 1);
  alone.parents = {-1};
  alone.shape.committed += depth;
  alone.shape.first_pending = 0;
  alone.shape.batch = 1;
  return alone;
}

}  // namespace banyan
