// What a CudaBackend does with caches.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"

namespace banyan {
namespace {

// Bytes of a head's row of slots.
std::size_t HeadBytes(const KvCache& cache, int slots) {
  return static_cast<std::size_t>(slots) *
         static_cast<std::size_t>(KvWidth(cache.head_dim)) *
         sizeof(std::uint16_t);
}

}  // namespace

absl::Status CudaBackend::ReserveKv(KvCache& cache, int slots, int used) {
  if (slots <= cache.capacity) return absl::OkStatus();
  KvCache grown = {.kv_heads = cache.kv_heads,
                   .head_dim = cache.head_dim,
                   .capacity = PadToLane(slots)};
  const std::size_t head = HeadBytes(grown, grown.capacity);
  const std::size_t bytes = static_cast<std::size_t>(grown.kv_heads) * head;
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  BANYAN_ASSIGN_OR_RETURN(grown.keys, NewBuffer(bytes));
  BANYAN_ASSIGN_OR_RETURN(grown.values, NewBuffer(bytes));
  const std::size_t kept = HeadBytes(cache, used);
  const std::size_t old = HeadBytes(cache, cache.capacity);
  for (std::size_t i = 0;
       kept > 0 && i < static_cast<std::size_t>(cache.kv_heads); ++i) {
    device_->CopyWithin(SpanOf(cache.keys.get()).Part(i * old, kept),
                        SpanOf(grown.keys.get()).Part(i * head, kept));
    device_->CopyWithin(SpanOf(cache.values.get()).Part(i * old, kept),
                        SpanOf(grown.values.get()).Part(i * head, kept));
  }
  cache = std::move(grown);
  return absl::OkStatus();
}

absl::Status CudaBackend::StoreKv(absl::Span<const StoreKvArgs> sequences) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  for (const StoreKvArgs& args : sequences) {
    host::CheckStore(args);
    kernels_.store_kv(*device_, args);
  }
  return absl::OkStatus();
}

absl::Status CudaBackend::MoveKv(const MoveKvArgs& args) {
  host::CheckMove(args);
  // Those that lie where they go stay: of a chain all of them.
  std::size_t lie = 0;
  while (args.from == nullptr && lie < args.slots.size() &&
         args.slots[lie] == args.first_slot + static_cast<int>(lie))
    ++lie;
  if (lie == args.slots.size()) return absl::OkStatus();
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const std::vector<std::int32_t> slots(args.slots.begin() + lie,
                                        args.slots.end());
  const auto bytes =
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(slots.data()),
                          slots.size() * sizeof(std::int32_t));
  // The pass that stored the rows took more of it: for want of memory no commit
  // fails, and a round that has scored comes to its end.
  BANYAN_ASSIGN_OR_RETURN(const DeviceSpan list, Scratch(bytes.size()));
  BANYAN_RETURN_IF_ERROR(CopyIn(bytes, list));
  kernels_.move_kv(*device_,
                   {.from = args.from,
                    .cache = args.cache,
                    .slots = list,
                    .first_slot = args.first_slot + static_cast<int>(lie)});
  return absl::OkStatus();
}

absl::Status CudaBackend::Attention(absl::Span<const AttentionArgs> sequences) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  while (!sequences.empty()) {
    const auto some = sequences.first(
        std::min<std::size_t>(sequences.size(), kMostSequences));
    BANYAN_ASSIGN_OR_RETURN(const DeviceSpan scratch,
                            Scratch(kernels_.attention_scratch(some)));
    kernels_.attention(*device_, some, scratch);
    sequences.remove_prefix(some.size());
  }
  return absl::OkStatus();
}

absl::Status CudaBackend::AttentionMass(const AttentionMassArgs& args) {
  host::CheckMass(args);
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  BANYAN_ASSIGN_OR_RETURN(const DeviceSpan scratch,
                          Scratch(kernels_.attention_mass_scratch(args)));
  kernels_.attention_mass(*device_, args, scratch);
  return absl::OkStatus();
}

}  // namespace banyan
