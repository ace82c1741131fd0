// StoreKv, MoveKv and ReserveKv, read back through host::KvView: on the devices
// whose memory is this machine's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"
#include "tests/core/ops/every_backend.h"
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

// Slots of a cache of `used`: stretches of any length and single ones, in any
// order, some more than once.
std::vector<int> AnySlots(int used, Dice& dice) {
  std::vector<int> slots;
  for (int stretches = dice.Between(1, 8); stretches > 0; --stretches) {
    const bool whole = dice.OneIn(2);  // panels
    int slot = whole ? dice.Below(used) / kLane * kLane : dice.Below(used);
    const int length = whole ? 2 * kLane : dice.Between(1, 40);
    for (int i = 0; i < length && slot < used; ++i) slots.push_back(slot++);
  }
  return slots;
}

// Slots of one cache are copied into another, and then hold what they did.
void CopyBetween(Backend& backend, int kv_heads, int head_dim, Dice& dice) {
  Desk desk(backend);
  KvCache from = {.kv_heads = kv_heads, .head_dim = head_dim};
  KvCache to = {.kv_heads = kv_heads, .head_dim = head_dim};
  const int used = dice.Between(1, 100);
  const Slots source = RandomSlots(used, from, dice);
  ASSERT_TRUE(backend.ReserveKv(from, used, 0).ok());
  Store(backend, desk, source, 0, from, dice);
  const std::vector<int> slots = AnySlots(used, dice);
  const int count = static_cast<int>(slots.size());
  const int first = dice.OneIn(3) ? 0 : dice.Below(40);
  const int end = first + count + dice.Below(20);
  Slots model = RandomSlots(end, to, dice);
  ASSERT_TRUE(backend.ReserveKv(to, end, 0).ok());
  Store(backend, desk, model, 0, to, dice);
  const auto status = backend.MoveKv(
      {.cache = &to, .slots = slots, .first_slot = first, .from = &from});
  ASSERT_TRUE(status.ok()) << status;
  Overwrite(source, slots, model, first);
  const std::string what =
      absl::StrCat(backend.description(), ", ", kv_heads, " heads of ",
                   head_dim, ", ", count, " slots of ", used, " to ", first);
  ExpectHolds(to, model, what);
  ExpectHolds(from, source, absl::StrCat(what, ", where they came from"));
}

TEST(KvCache, HoldsWhatWasCopiedFromAnother) {
  Fleet fleet;
  Dice dice(4);
  for (const auto& backend : fleet.hosts())
    for (int kv_heads : {1, 2, 3, 4})
      for (int head_dim : {2, 6, 8, 10, 64, 80, 128})
        for (int i = 0; i < 3; ++i)
          CopyBetween(*backend, kv_heads, head_dim, dice);
}

// Returns the attention output over `count` slots of a cache and a token after
// them. The output depends on every number in these slots, on devices of any
// memory.
Numbers Attended(Backend& backend, const Slots& token, int count,
                 KvCache& cache) {
  Desk desk(backend);
  Dice dice(7);
  Store(backend, desk, token, count, cache, dice);
  const int columns = cache.kv_heads * cache.head_dim;
  const Tensor y = desk.Room(1, columns);
  const auto status =
      backend.Attention({{.queries = desk.Put(SoftNumbers(1, columns, 1, dice)),
                          .heads = cache.kv_heads,
                          .prefix = &cache,
                          .committed = count,
                          .pending = &cache,
                          .pending_slot = count,
                          .first_pending = 0,
                          .visible = desk.List({1}),
                          .visible_words = 1,
                          .y = y}});
  EXPECT_TRUE(status.ok()) << status;
  return desk.Take(y);
}

// In two calls, the first of which begins at slot 0.
TEST(KvCache, IsReadOnEveryDeviceAsIfWhatWasCopiedHadBeenStored) {
  Fleet fleet;
  Dice dice(5);
  for (const auto& backend : fleet.all())
    for (int head_dim : {2, 6, 64, 80, 100, 200}) {
      Desk desk(*backend);
      const int used = dice.Between(1, 100);
      KvCache caches[3];
      for (KvCache& cache : caches) {
        cache.kv_heads = 3;
        cache.head_dim = head_dim;
      }
      auto& [from, copied, stored] = caches;
      const auto soft = [&](int count) {
        return Slots{SoftNumbers(count, 3 * head_dim, 1, dice),
                     SoftNumbers(count, 3 * head_dim, 1, dice)};
      };
      const Slots source = soft(used);
      ASSERT_TRUE(backend->ReserveKv(from, used, 0).ok());
      Store(*backend, desk, source, 0, from, dice);
      const std::vector<int> slots = AnySlots(used, dice);
      const int count = static_cast<int>(slots.size());
      Slots same = soft(count);
      Overwrite(source, slots, same, 0);
      ASSERT_TRUE(backend->ReserveKv(stored, count + 1, 0).ok());
      ASSERT_TRUE(backend->ReserveKv(copied, count + 1, 0).ok());
      Store(*backend, desk, same, 0, stored, dice);
      const int half = dice.Below(count);
      for (const auto& [first, end] :
           {std::pair(0, half), std::pair(half, count)}) {
        const auto status = backend->MoveKv(
            {.cache = &copied,
             .slots = {slots.begin() + first, slots.begin() + end},
             .first_slot = first,
             .from = &from});
        ASSERT_TRUE(status.ok()) << status;
      }
      const Slots token = soft(1);
      EXPECT_TRUE(SameBits(Attended(*backend, token, count, copied),
                           Attended(*backend, token, count, stored)))
          << backend->description() << ", heads of " << head_dim;
    }
}

// On devices that start no threads, which a test that dies cannot have.
TEST(KvCacheDeathTest, EndsTheProgramWhereSlotsCannotMove) {
  std::vector<std::shared_ptr<Backend>> backends = {
      *OpenDevice("reference"), *OpenDevice("cpu", {.threads = 1}),
      *OpenDevice("emulated_gpu")};
  for (const auto& backend : backends) {
    KvCache cache = {.kv_heads = 2, .head_dim = 6};
    KvCache narrow = {.kv_heads = 2, .head_dim = 4};
    ASSERT_TRUE(backend->ReserveKv(cache, 16, 0).ok());
    ASSERT_TRUE(backend->ReserveKv(narrow, 16, 0).ok());
    const auto move = [&](std::vector<int> slots, int to,
                          const KvCache* from = nullptr) {
      (void)backend->MoveKv({&cache, std::move(slots), to, from});
    };
    EXPECT_DEATH(move({3}, 4), "upwards");
    EXPECT_DEATH(move({16}, 4), "there are none");
    EXPECT_DEATH(move({1}, 0, &narrow), "another shape");
    EXPECT_DEATH(move({1}, 0, &cache), "itself");
  }
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
