// A cache as kernels see it. Rows of keys and values are padded with zeros
// (KvWidth).
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_KV_LAYOUT_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_KV_LAYOUT_H_

#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {

template <typename T>
struct KvCacheOf {
  KvCacheOf() = default;
  KvCacheOf(CudaDevice& device, const KvCache& cache)
      : keys(device, SpanOf(cache.keys.get())),
        values(device, SpanOf(cache.values.get())),
        kv_heads(cache.kv_heads),
        head_dim(cache.head_dim),
        width(KvWidth(cache.head_dim)),
        capacity(cache.capacity) {}

  // The first number of a slot's row.
  BANYAN_DEVICE std::int64_t Row(int head, int slot) const {
    return (std::int64_t{head} * capacity + slot) * width;
  }

  Global<T> keys;
  Global<T> values;
  int kv_heads = 0;
  int head_dim = 0;
  int width = 0;
  int capacity = 0;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_KV_LAYOUT_H_
