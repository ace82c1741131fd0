// StoreKv, MoveKv and ReserveKv, read back through host::KvView: on the devices
// whose memory is this machine's.
#include "core/ops/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ops/backend.h"
#include "core/ops/host/host.h"
#include "core/ops/tensor.h"
#include "tests/core/ops/twins.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

struct Slots {
  Numbers keys;
  Numbers values;
};

// What slots [0, count) hold.
Slots Read(const KvCache& cache, int count) {
  const host::KvView view(cache);
  const int columns = cache.kv_heads * cache.head_dim;
  Slots slots = {Numbers(count, columns), Numbers(count, columns)};
  for (int slot = 0; slot < count; ++slot)
    for (int head = 0; head < cache.kv_heads; ++head)
      for (int d = 0; d < cache.head_dim; ++d) {
        const int at = head * cache.head_dim + d;
        slots.keys.at(slot, at) =
            view.Key(head, slot)[static_cast<std::size_t>(d) * kLane];
        slots.values.at(slot, at) = view.Value(head, slot)[d];
      }
  return slots;
}

Slots RandomSlots(int count, const KvCache& cache, Dice& dice) {
  const int columns = cache.kv_heads * cache.head_dim;
  return {HardNumbers(count, columns, 100, dice),
          HardNumbers(count, columns, 100, dice)};
}

void ExpectHolds(const KvCache& cache, const Slots& expected,
                 const std::string& what) {
  const Slots slots = Read(cache, expected.keys.rows);
  EXPECT_TRUE(SameBits(slots.keys, expected.keys)) << what << ", keys";
  EXPECT_TRUE(SameBits(slots.values, expected.values)) << what << ", values";
}

void Overwrite(const Slots& from, const std::vector<int>& rows, Slots& to,
               int first) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int slot = first + static_cast<int>(i);
    std::copy_n(from.keys.row(rows[i]), from.keys.columns, to.keys.row(slot));
    std::copy_n(from.values.row(rows[i]), from.values.columns,
                to.values.row(slot));
  }
}

// 0, 1, .. count - 1.
std::vector<int> UpTo(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Keys and values stand side by side, as a projection leaves them.
StoreKvArgs Lay(Desk& desk, const Slots& slots, int first, KvCache& cache,
                Dice& dice) {
  const int columns = slots.keys.columns;
  Numbers both(slots.keys.rows, 2 * columns);
  for (int i = 0; i < both.rows; ++i) {
    std::copy_n(slots.keys.row(i), columns, both.row(i));
    std::copy_n(slots.values.row(i), columns, both.row(i) + columns);
  }
  const Tensor matrix = desk.Put(both, RandomPlace(dice));
  return {.keys = matrix.Columns(0, columns),
          .values = matrix.Columns(columns, columns),
          .cache = &cache,
          .first_slot = first};
}

void Store(Backend& backend, Desk& desk, const Slots& slots, int first,
           KvCache& cache, Dice& dice) {
  const auto status = backend.StoreKv({Lay(desk, slots, first, cache, dice)});
  EXPECT_TRUE(status.ok()) << status;
}

// A walk of growing, storing and moving, and what every slot must then hold.
void Wander(Backend& backend, int kv_heads, int head_dim, Dice& dice) {
  Desk desk(backend);
  KvCache cache = {.kv_heads = kv_heads, .head_dim = head_dim};
  const std::string what = absl::StrCat(backend.description(), ", ", kv_heads,
                                        " heads of ", head_dim);
  Slots model = RandomSlots(0, cache, dice);
  for (int step = 0; step < 12; ++step) {
    const int used = model.keys.rows;
    const int count = dice.Between(1, 20);
    const int first = dice.OneIn(2) ? used : dice.Below(used + 1);
    const int end = std::max(used, first + count);
    ASSERT_TRUE(backend.ReserveKv(cache, end, used).ok());
    ASSERT_GE(cache.capacity, end) << what;
    Slots grown = RandomSlots(end, cache, dice);
    Overwrite(model, UpTo(used), grown, 0);
    const Slots batch = RandomSlots(count, cache, dice);
    Store(backend, desk, batch, first, cache, dice);
    Overwrite(batch, UpTo(count), grown, first);
    // Some of the slots, further down.
    std::vector<int> slots;
    for (int slot = 0; slot < end; ++slot)
      if (dice.OneIn(3)) slots.push_back(slot);
    if (!slots.empty()) {
      const int to = dice.Between(0, slots.front());
      const auto status =
          backend.MoveKv({.cache = &cache, .slots = slots, .first_slot = to});
      ASSERT_TRUE(status.ok()) << status;
      Overwrite(Slots(grown), slots, grown, to);
    }
    model = std::move(grown);
    ExpectHolds(cache, model, absl::StrCat(what, ", step ", step));
  }
}

TEST(KvCache, HoldsWhatWasStoredMovedAndGrown) {
  Fleet fleet;
  Dice dice(1);
  for (const auto& backend : fleet.hosts())
    for (int kv_heads : {1, 2, 3, 4})
      for (int head_dim : {2, 6, 8, 10, 64, 80, 128})
        Wander(*backend, kv_heads, head_dim, dice);
}

// Sequences in one call, each with a cache of its own.
TEST(KvCache, HoldsWhatSeveralSequencesStoredAtOnce) {
  Fleet fleet;
  Dice dice(3);
  for (const auto& backend : fleet.hosts())
    for (int count : {2, 3, 8}) {
      Desk desk(*backend);
      std::vector<KvCache> caches(static_cast<std::size_t>(count));
      std::vector<Slots> stored;
      std::vector<StoreKvArgs> together;
      for (KvCache& cache : caches) {
        cache.kv_heads = 2;
        cache.head_dim = 6;
        stored.push_back(RandomSlots(dice.Between(1, 30), cache, dice));
        ASSERT_TRUE(backend->ReserveKv(cache, stored.back().keys.rows, 0).ok());
        together.push_back(Lay(desk, stored.back(), 0, cache, dice));
      }
      const auto status = backend->StoreKv(together);
      ASSERT_TRUE(status.ok()) << status;
      for (std::size_t i = 0; i < caches.size(); ++i)
        ExpectHolds(
            caches[i], stored[i],
            absl::StrCat(backend->description(), ", ", i, " of ", count));
    }
}

TEST(KvCache, HoldsFiniteNumbersWhereNothingWasStored) {
  Fleet fleet;
  for (const auto& backend : fleet.hosts()) {
    KvCache cache = {.kv_heads = 2, .head_dim = 6};
    ASSERT_TRUE(backend->ReserveKv(cache, 37, 0).ok());
    const Slots slots = Read(cache, cache.capacity);
    for (float x : slots.keys.data) ASSERT_TRUE(std::isfinite(x));
    for (float x : slots.values.data) ASSERT_TRUE(std::isfinite(x));
  }
}

// Growing to what there is room for keeps everything, used or not.
TEST(KvCache, NeverShrinks) {
  Fleet fleet;
  Dice dice(2);
  for (const auto& backend : fleet.hosts()) {
    Desk desk(*backend);
    KvCache cache = {.kv_heads = 2, .head_dim = 6};
    ASSERT_TRUE(backend->ReserveKv(cache, 40, 0).ok());
    const Slots slots = RandomSlots(40, cache, dice);
    Store(*backend, desk, slots, 0, cache, dice);
    const int capacity = cache.capacity;
    ASSERT_TRUE(backend->ReserveKv(cache, 3, 40).ok());
    EXPECT_EQ(cache.capacity, capacity);
    ExpectHolds(cache, slots, backend->description());
  }
}

}  // namespace
}  // namespace banyan
