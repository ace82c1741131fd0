// StoreKv and MoveKv: keys and values by slot.
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/device/kv_layout.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {
namespace {

// A thread two numbers of a key and of a value.
struct StoreKvKernel {
  static constexpr const char* kName = "store_kv";
  static constexpr bool kAwaits = true;
  Matrix<const float> keys;
  Matrix<const float> values;
  KvCacheOf<std::uint32_t> cache;
  int first_slot;
  Global<const std::int32_t> length;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const int words = cache.width / 2;
    std::int64_t i = ThingOf(t);
    const auto word = static_cast<int>(i % words);
    i /= words;
    const auto head = static_cast<int>(i % cache.kv_heads);
    const auto row = static_cast<int>(i / cache.kv_heads);
    if (row >= keys.rows) return;
    const auto pair = [&](const Matrix<const float>& x) {
      const auto number = [&](int at) {
        return at < cache.head_dim
                   ? ToBf16(x.Read(row, head * cache.head_dim + at))
                   : 0U;
      };
      return number(word * 2) | number(word * 2 + 1) << 16;
    };
    const int slot = first_slot + row + LiveNumber(length);
    const std::int64_t at = cache.Row(head, slot) / 2 + word;
    cache.keys.Write(at, pair(keys));
    cache.values.Write(at, pair(values));
  }
};

// A thread two numbers of all slots, in their order: where one moves to,
// another may have stood.
struct MoveKvKernel {
  static constexpr const char* kName = "move_kv";
  KvCacheOf<std::uint32_t> cache;
  Global<const std::int32_t> slots;
  int first_slot;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int words = cache.width / 2;
    const std::int64_t i = ThingOf(t);
    const auto word = static_cast<int>(i % words);
    const auto head = static_cast<int>(i / words);
    if (head >= cache.kv_heads) return;
    for (std::int64_t slot = 0; slot < slots.size(); ++slot) {
      const std::int64_t from = cache.Row(head, slots.Read(slot)) / 2 + word;
      const std::int64_t to =
          cache.Row(head, first_slot + static_cast<int>(slot)) / 2 + word;
      cache.keys.Write(to, cache.keys.Read(from));
      cache.values.Write(to, cache.values.Read(from));
    }
  }
};

// A thread four words of a slot's key and value.
struct CopyKvKernel {
  static constexpr const char* kName = "copy_kv";
  static constexpr int kWords = 4;
  KvCacheOf<const std::uint32_t> from;
  KvCacheOf<std::uint32_t> cache;
  Global<const std::int32_t> slots;
  int first_slot;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int packs = cache.width / 2 / kWords;
    std::int64_t i = ThingOf(t);
    const auto word = static_cast<int>(i % packs) * kWords;
    i /= packs;
    const auto slot = static_cast<int>(i % slots.size());
    const auto head = static_cast<int>(i / slots.size());
    if (head >= cache.kv_heads) return;
    const std::int64_t at = from.Row(head, slots.Read(slot)) / 2 + word;
    const std::int64_t to = cache.Row(head, first_slot + slot) / 2 + word;
    cache.keys.WritePack(to, from.keys.ReadPack<kWords>(at));
    cache.values.WritePack(to, from.values.ReadPack<kWords>(at));
  }
};

}  // namespace

void LaunchStoreKv(CudaDevice& device, const StoreKvArgs& args) {
  if (args.keys.rows == 0) return;
  const KvCacheOf<std::uint32_t> cache(device, *args.cache);
  Launch(
      device,
      ForEach(std::int64_t{args.keys.rows} * cache.kv_heads * cache.width / 2),
      StoreKvKernel{{device, args.keys},
                    {device, args.values},
                    cache,
                    args.first_slot,
                    {device, LiveOf(args.length)}});
}

void LaunchMoveKv(CudaDevice& device, const MoveKvLaunch& launch) {
  if (launch.slots.bytes == 0) return;
  const KvCacheOf<std::uint32_t> cache(device, *launch.cache);
  const std::int64_t words = std::int64_t{cache.kv_heads} * cache.width / 2;
  if (launch.from == nullptr) {
    Launch(device, ForEach(words),
           MoveKvKernel{cache, {device, launch.slots}, launch.first_slot});
    return;
  }
  const auto slots =
      static_cast<std::int64_t>(launch.slots.bytes / sizeof(std::int32_t));
  Launch(device, ForEach(words / CopyKvKernel::kWords * slots),
         CopyKvKernel{{device, *launch.from},
                      cache,
                      {device, launch.slots},
                      launch.first_slot});
}

}  // namespace banyan::BANYAN_MAKER
