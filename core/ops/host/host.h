// What the two backends on this machine share: memory, and where numbers lie.
#ifndef BANYAN_CORE_OPS_HOST_HOST_H_
#define BANYAN_CORE_OPS_HOST_HOST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/device/buffer.h"
#include "core/device/host_buffer.h"
#include "core/ops/device_ops.h"
#include "core/ops/op_args.h"
#include "core/prob/distribution.h"

namespace banyan::host {

inline std::byte* Bytes(Buffer& buffer) {
  return static_cast<HostBuffer&>(buffer).data();
}
inline float* Floats(Buffer& buffer) {
  return reinterpret_cast<float*>(Bytes(buffer));
}
inline float* Row(const Tensor& x, int row) {
  return Floats(*x.buffer) + x.offset +
         static_cast<std::size_t>(row) * x.stride;
}
inline const std::int32_t* Data(const Ints& ints) {
  return reinterpret_cast<const std::int32_t*>(Bytes(*ints.buffer)) +
         ints.offset;
}
// What stands in a live number's place; 0 without one.
inline int LiveNumber(const Live& live) {
  return live.empty() ? 0 : Data(live.at)[0];
}

// Where a cache keeps its numbers. Keys: by head, then panels of 16 slots, each
// [head_dim][16 slots], so that one vector holds 16 slots. Values: by head,
// [slot][head_dim]. Both have kLane numbers more at the end, for vectors that
// read past a row.
struct KvView {
  explicit KvView(const KvCache& cache)
      : keys(Floats(*cache.keys)),
        values(Floats(*cache.values)),
        head_dim(static_cast<std::size_t>(cache.head_dim)),
        head_stride(head_dim * static_cast<std::size_t>(cache.capacity)) {}

  float* KeyHead(int head) const {
    return keys + static_cast<std::size_t>(head) * head_stride;
  }
  float* ValueHead(int head) const {
    return values + static_cast<std::size_t>(head) * head_stride;
  }
  // Number d of a slot's key lies at Key(head, slot)[d * kLane].
  float* Key(int head, int slot) const {
    const auto at = static_cast<std::size_t>(slot);
    return KeyHead(head) + at / kLane * kLane * head_dim + at % kLane;
  }
  float* Value(int head, int slot) const {
    return ValueHead(head) + static_cast<std::size_t>(slot) * head_dim;
  }

  float* keys;
  float* values;
  std::size_t head_dim;
  std::size_t head_stride;
};

absl::StatusOr<std::unique_ptr<Buffer>> Allocate(std::size_t bytes);
absl::Status Upload(absl::Span<const std::byte> from, Buffer& to,
                    std::size_t offset);
absl::Status Download(const Buffer& from, std::size_t offset,
                      absl::Span<std::byte> to);
absl::Status ReserveKv(KvCache& cache, int slots, int used);
// With the number that stands in `length` added.
AttentionArgs Settled(const AttentionArgs& args);
// What StoreKv does to one head.
void StoreKvHead(const StoreKvArgs& args, int head);
// Ends the program if StoreKv has no room, or MoveKv's contract is broken.
void CheckStore(const StoreKvArgs& args);
void CheckMove(const MoveKvArgs& args);
// What MoveKv does to one head, of slots [first, end) of the list.
void MoveKvHead(const MoveKvArgs& args, int head, int first, int end);
// The same of AttentionMass.
void CheckMass(const AttentionMassArgs& args);
absl::Status Copy(const CopyArgs& args);
// The row as doubles, -infinity where nothing is emitted. Fails as CheckFinite
// (core/prob/sampling_rule.h).
absl::StatusOr<std::vector<double>> Logits(const LogitRow& logits);
absl::StatusOr<Distribution> Law(const LawArgs& args);

}  // namespace banyan::host

#endif  // BANYAN_CORE_OPS_HOST_HOST_H_
