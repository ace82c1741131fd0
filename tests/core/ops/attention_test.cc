// Attention on every backend, over random trees.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/ops/backend.h"
#include "core/ops/op_args.h"
#include "tests/core/ops/twins.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

struct Shape {
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
struct Tree {
  std::string name() const {
    return absl::StrCat(shape.heads, " heads on ", shape.kv_heads, " of ",
                        shape.head_dim, ", committed ", shape.committed,
                        ", first pending ", shape.first_pending, ", batch ",
                        shape.batch, ", window ", shape.window,
                        ", pending slot ", shape.pending_slot);
  }
  // The pending slots that slot `slot` sees, ascending.
  std::vector<int> Path(int slot) const {
    std::vector<int> path;
    for (; slot >= 0; slot = parents[static_cast<std::size_t>(slot)])
      path.insert(path.begin(), slot);
    return path;
  }
  Numbers Run(Backend& backend, int first, int count) const {
    Desk desk(backend);
    Laid laid;
    Lay(backend, desk, first, count, laid);
    const absl::Status status = backend.Attention({laid.args});
    EXPECT_TRUE(status.ok()) << status;
    return desk.Take(laid.args.y);
  }
  // Queries [first, first + count) and what they read, laid on the desk.
  struct Laid {
    KvCache prefix, own;
    AttentionArgs args;
  };
  void Lay(Backend& backend, Desk& desk, int first, int count,
           Laid& laid) const;

  Shape shape;
  Numbers queries;
  Numbers keys, values;                  // of the prefix
  Numbers pending_keys, pending_values;  // by slot
  std::vector<int> parents;              // of pending slots; -1: the prefix
  bool is_chain = false;
};

// Returns a cache with room for `slots` slots, rubbish in all of them.
KvCache Rubbish(Backend& backend, Desk& desk, const Shape& shape, int slots) {
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

void Store(Backend& backend, Desk& desk, const Numbers& keys,
           const Numbers& values, int first, KvCache& cache) {
  if (keys.rows == 0) return;
  const absl::Status status = backend.StoreKv({{.keys = desk.Put(keys),
                                                .values = desk.Put(values),
                                                .cache = &cache,
                                                .first_slot = first}});
  EXPECT_TRUE(status.ok()) << status;
}

void Tree::Lay(Backend& backend, Desk& desk, int first, int count,
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
  Store(backend, desk, keys, values, 0, laid.prefix);
  Store(backend, desk, pending_keys, pending_values, slot, pending);
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

// Scores of up to about `size`; deep and bushy trees in turn.
Tree RandomTree(const Shape& shape, float size, Dice& dice) {
  Tree tree = {.shape = shape};
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

// The keys and values one query head of a row sees, in the order of positions.
struct Seen {
  std::vector<const float*> keys;
  std::vector<const float*> values;
};

Seen SeenBy(const Tree& tree, int row, int head) {
  const Shape& shape = tree.shape;
  const int kv_head = head / (shape.heads / shape.kv_heads);
  const int at = kv_head * shape.head_dim;
  Seen seen;
  for (int slot = 0; slot < shape.committed; ++slot) {
    seen.keys.push_back(tree.keys.row(slot) + at);
    seen.values.push_back(tree.values.row(slot) + at);
  }
  for (int slot : tree.Path(shape.first_pending + row)) {
    seen.keys.push_back(tree.pending_keys.row(slot) + at);
    seen.values.push_back(tree.pending_values.row(slot) + at);
  }
  const auto window = static_cast<std::ptrdiff_t>(shape.window);
  const auto size = static_cast<std::ptrdiff_t>(seen.keys.size());
  if (window > 0 && size > window) {
    seen.keys.erase(seen.keys.begin(), seen.keys.end() - window);
    seen.values.erase(seen.values.begin(), seen.values.end() - window);
  }
  return seen;
}

// What the op means, in double, and how far floats may be off.
//
// A score is off by head_dim units of m, the largest sum of |query * key|; the
// difference to the largest, and exp's reduction of it, by 4 more: d. So a p is
// off by 2 d, relatively, and 3 units for exp. Numerator and denominator
// inherit that, sums of n numbers add n and n / 16 + 5 units, the quotient one:
// exp(4 d) - 1 + (1.1 n + 16) units of the mean of |value| under p. A p that
// leaves the normal numbers may be lost: 2^-125 of a value each. However far
// the scores are off, a mean stays within the values.
struct Meant {
  Numbers y;
  std::vector<double> bounds;
};

//
// Where queries, keys, p and values are rounded, a score is off by `unit` of m
// more, and a product of p and value by as much. Of each value `of_value` and
// `each` may be lost besides, and `once`.
struct Rounding {
  double unit = 0;
  double once = 0;
  double of_value = 0x1p-125;
  double each = kTiny;
};

Rounding RoundingOf(const BackendFacts& facts) {
  if (facts.rounds_to_bf16)
    return {.unit = 2.01 * kBf16Unit, .once = kBf16Tiny};
  // Two parts of each factor, less the product of the low ones; what is below
  // the normal numbers counts as 0.
  if (facts.sums == "tiles")
    return {
        .unit = 2 * 0x1p-17 + 0x1p-16, .of_value = 0x1p-124, .each = 0x1p-124};
  return {};
}

void AddHead(const Tree& tree, int row, int head, const Rounding& rounding,
             Meant& meant) {
  const int head_dim = tree.shape.head_dim;
  const float* query = tree.queries.row(row) + head * head_dim;
  const Seen seen = SeenBy(tree, row, head);
  const std::size_t n = seen.keys.size();
  std::vector<double> scores(n);
  double m = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double magnitude = 0;
    for (int d = 0; d < head_dim; ++d) {
      scores[j] += double{query[d]} * double{seen.keys[j][d]};
      magnitude += std::fabs(double{query[d]} * double{seen.keys[j][d]});
    }
    m = std::max(m, magnitude);
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - largest);
  const double off =
      std::expm1(4 * ((head_dim + 4) * kUnit + rounding.unit) * m) +
      (1.1 * static_cast<double>(n) + 16) * kUnit + rounding.unit;
  for (int d = 0; d < head_dim; ++d) {
    double sum = 0;
    double mean = 0;
    double most = 0;
    double lost = rounding.once;  // of values
    for (std::size_t j = 0; j < n; ++j) {
      const double value = seen.values[j][d];
      sum += scores[j] / total * value;
      mean += scores[j] / total * std::fabs(value);
      most = std::max(most, std::fabs(value));
      lost += rounding.of_value * std::fabs(value) + rounding.each;
    }
    meant.y.at(row, head * head_dim + d) = static_cast<float>(sum);
    meant.bounds.push_back(std::fmin(off * mean, 2.1 * most) + lost);
  }
}

Meant MeantBy(const Tree& tree, const Rounding& rounding) {
  Meant meant = {
      Numbers(tree.shape.batch, tree.shape.heads * tree.shape.head_dim), {}};
  for (int row = 0; row < tree.shape.batch; ++row)
    for (int head = 0; head < tree.shape.heads; ++head)
      AddHead(tree, row, head, rounding, meant);
  return meant;
}

Numbers ExpectAttends(Fleet& fleet, const Tree& tree) {
  const Meant meant = MeantBy(tree, {});
  Numbers got = ExpectTwins(
      fleet, tree.shape.batch,
      [&](Backend& backend, int first, int count) {
        return tree.Run(backend, first, count);
      },
      [&](const Numbers& expected, const BackendFacts& other) {
        EXPECT_TRUE(Within(expected, meant.y, meant.bounds))
            << tree.name() << ", the reference";
        return MeantBy(tree, RoundingOf(other)).bounds;
      },
      tree.name());
  return got;
}

TEST(AttentionTwins, AgreeOnAwkwardHeads) {
  Fleet fleet;
  Dice dice(1);
  for (int head_dim : {2, 6, 8, 10, 64, 80, 128})
    for (int kv_heads : {1, 2, 3, 4})
      for (int group : {1, 2, 3, 4, 5, 6, 7, 8}) {
        if (head_dim * kv_heads * group > 700 && !dice.OneIn(4)) continue;
        const Shape shape = {
            kv_heads * group,     kv_heads,      head_dim,
            dice.Between(0, 40),  dice.Below(5), dice.Between(1, 5),
            dice.OneIn(3) ? 7 : 0};
        ExpectAttends(fleet, RandomTree(shape, 10, dice));
      }
}

TEST(AttentionTwins, AgreeOnPrefixesOfAnyLength) {
  Fleet fleet;
  Dice dice(2);
  for (int committed :
       {0,  1,   2,   14,  15,  16,  17,  31,  32,  33,  47,   63,
        65, 100, 127, 129, 255, 257, 300, 511, 513, 600, 1023, 1100})
    for (int window : {0, 1, 5, 16, 100, 1000}) {
      const bool large = committed > 300;
      if (large && window < 100 && window != 0) continue;
      const Shape shape = {4,
                           2,
                           large ? dice.OneOf<int>({10, 48, 80}) : 10,
                           committed,
                           dice.Below(20),
                           dice.Between(1, large ? 40 : 6),
                           window};
      ExpectAttends(fleet, RandomTree(shape, 10, dice));
    }
}

TEST(AttentionTwins, AgreeOnBatchesOfAnySize) {
  Fleet fleet;
  Dice dice(3);
  for (int batch : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 64, 65, 130, 256})
    for (int first_pending : {0, 1, 31, 40}) {
      if (batch > 65 && first_pending > 1) continue;
      const Shape shape = {3,
                           1,
                           6,
                           dice.Below(70),
                           first_pending,
                           batch,
                           dice.OneIn(3) ? dice.Between(1, 60) : 0};
      ExpectAttends(fleet, RandomTree(shape, 10, dice));
    }
}

// Sequences in one call, each with caches, prefix and window of its own.
TEST(AttentionTwins, GiveEachOfSeveralSequencesWhatItGetsAlone) {
  Fleet fleet;
  Dice dice(7);
  for (const auto& backend : fleet.all())
    for (int count : {2, 3, 8}) {
      std::vector<Tree> trees;
      std::vector<Tree::Laid> laid(static_cast<std::size_t>(count));
      std::vector<AttentionArgs> together;
      Desk desk(*backend);
      for (Tree::Laid& each : laid) {
        const Shape shape = {4,
                             2,
                             10,
                             dice.Below(300),
                             dice.Below(5),
                             dice.Between(1, 40),
                             dice.OneIn(3) ? 7 : 0};
        trees.push_back(RandomTree(shape, 10, dice));
        trees.back().Lay(*backend, desk, 0, shape.batch, each);
        together.push_back(each.args);
      }
      const absl::Status status = backend->Attention(together);
      ASSERT_TRUE(status.ok()) << status;
      for (std::size_t i = 0; i < trees.size(); ++i)
        EXPECT_TRUE(SameBits(desk.Take(laid[i].args.y),
                             trees[i].Run(*backend, 0, trees[i].shape.batch)))
            << backend->description() << ", " << i << " of " << count << ": "
            << trees[i].name();
    }
}

// Scores far apart: one slot takes all; or all underflow but one; no NaN.
TEST(AttentionTwins, AgreeOnScoresFarApart) {
  Fleet fleet;
  Dice dice(4);
  for (float size : {1e-30F, 1e-3F, 90.0F, 1e4F, 1e10F, 1e30F})
    for (int committed : {0, 5, 100}) {
      const Shape shape = {4, 2, 8, committed, 3, 9};
      const Tree tree = RandomTree(shape, size, dice);
      const Numbers y = ExpectAttends(fleet, tree);
      for (float number : y.data) EXPECT_TRUE(std::isfinite(number)) << size;
    }
}

// The same token as the only pending one, its ancestors committed.
Tree Committed(const Tree& tree, int row) {
  Tree alone = tree;
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

TEST(Attention, DependsOnPositionsNotOnSlots) {
  Fleet fleet;
  Dice dice(5);
  for (int i = 0; i < 12; ++i) {
    const Shape shape = {4,
                         2,
                         dice.OneOf<int>({2, 6, 64}),
                         dice.Below(90),
                         dice.Below(40),
                         20,
                         dice.OneIn(2) ? 0 : 11};
    const Tree tree = RandomTree(shape, 10, dice);
    for (const auto& backend : fleet.others()) {
      const Numbers y = tree.Run(*backend, 0, shape.batch);
      for (int row = 0; row < shape.batch; row += 4)
        EXPECT_TRUE(
            SameBits(Committed(tree, row).Run(*backend, 0, 1), y.Rows(row, 1)))
            << tree.name() << ", row " << row << ", " << backend->description();
    }
  }
}

// A backend may read a chain's pending tokens as it reads committed ones. Some
// chains cross the end of a stretch of 256 positions.
TEST(Attention, IsTheSameOfAChainThatSaysSo) {
  Fleet fleet;
  Dice dice(9);
  for (int i = 0; i < 12; ++i) {
    const Shape shape = {4,
                         dice.OneOf<int>({1, 2, 4}),
                         dice.OneOf<int>({6, 64, 96}),
                         i % 3 == 0 ? dice.Between(230, 260) : dice.Below(90),
                         dice.Below(40),
                         dice.Between(1, 20),
                         dice.OneIn(2) ? 0 : 11};
    Tree tree = RandomTree(shape, 10, dice);
    std::iota(tree.parents.begin(), tree.parents.end(), -1);
    for (const auto& backend : fleet.others()) {
      tree.is_chain = false;
      const Numbers y = tree.Run(*backend, 0, shape.batch);
      tree.is_chain = true;
      EXPECT_TRUE(SameBits(tree.Run(*backend, 0, shape.batch), y))
          << tree.name() << ", " << backend->description();
    }
  }
}

// A path is kept as a session keeps it: its slots move down to the end of the
// prefix, and the next token is stored after them.
TEST(Attention, ReadsMovedSlotsAsIfTheyHadBeenStoredThere) {
  Fleet fleet;
  Dice dice(8);
  int moved = 0;
  for (int i = 0; i < 12; ++i) {
    const Shape shape = {4,
                         2,
                         dice.OneOf<int>({2, 6, 64}),
                         dice.Below(90),
                         dice.Below(5),
                         20,
                         dice.OneIn(2) ? 0 : 11};
    Tree tree = RandomTree(shape, 10, dice);
    tree.shape.pending_slot = kBehind;
    const int row = dice.Below(shape.batch);
    const Tree alone = Committed(tree, row);
    std::vector<int> slots = tree.Path(shape.first_pending + row);
    slots.pop_back();
    for (int& slot : slots) slot += shape.committed;
    moved += static_cast<int>(slots.size());
    for (const auto& backend : fleet.all()) {
      Desk desk(*backend);
      Tree::Laid laid;
      tree.Lay(*backend, desk, 0, shape.batch, laid);
      const absl::Status move =
          backend->MoveKv({&laid.prefix, slots, shape.committed});
      ASSERT_TRUE(move.ok()) << move;
      const int end = alone.shape.committed;
      Store(*backend, desk, alone.pending_keys, alone.pending_values, end,
            laid.prefix);
      laid.args.queries = desk.Put(alone.queries);
      laid.args.committed = end;
      laid.args.pending_slot = end;
      laid.args.length = {};
      laid.args.first_pending = 0;
      laid.args.visible = desk.List({1});
      laid.args.visible_words = 1;
      laid.args.y = desk.Room(1, alone.queries.columns);
      const absl::Status status = backend->Attention({laid.args});
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(SameBits(desk.Take(laid.args.y), alone.Run(*backend, 0, 1)))
          << tree.name() << ", row " << row << ", " << backend->description();
    }
  }
  EXPECT_GT(moved, 20) << "nothing was tested";
}

}  // namespace
}  // namespace banyan
