// Where the keys and values of rows go: to the caches of their sequences.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_STORED_ROWS_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_STORED_ROWS_H_

#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/device/kv_layout.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {

// Two numbers that are stored beside each other.
BANYAN_DEVICE std::uint32_t Bf16Pair(float low, float high) {
  return ToBf16(low) | ToBf16(high) << 16;
}

// Of at most kMostSequences sequences, whose rows follow each other.
struct StoredRows {
  struct Sequence {
    KvCacheOf<std::uint32_t> cache;
    int first_row = 0;
    int first_slot = 0;
    Global<const std::int32_t> length;
  };

  StoredRows() = default;
  StoredRows(CudaDevice& device, absl::Span<const StoreKvArgs> all) {
    int row = 0;
    for (const StoreKvArgs& args : all) {
      of[count++] = {{device, *args.cache},
                     row,
                     args.first_slot,
                     {device, LiveOf(args.length)}};
      row += args.keys.rows;
    }
  }

  BANYAN_DEVICE int kv_heads() const { return of[0].cache.kv_heads; }
  BANYAN_DEVICE int head_dim() const { return of[0].cache.head_dim; }

  // A row's head of a cache: the cache, and the head's first word there.
  struct Place {
    const KvCacheOf<std::uint32_t>& cache;
    std::int64_t word;
  };
  BANYAN_DEVICE Place At(int row, int head) const {
    int own = count - 1;
    while (row < of[own].first_row) --own;
    const Sequence& sequence = of[own];
    const int slot = sequence.first_slot + row - sequence.first_row +
                     LiveNumber(sequence.length);
    return {sequence.cache, sequence.cache.Row(head, slot) / 2};
  }

  Sequence of[kMostSequences];
  int count = 0;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_STORED_ROWS_H_
