// What an op's arguments are to its kernels.
#ifndef BANYAN_CORE_OPS_CUDA_LAUNCH_OF_H_
#define BANYAN_CORE_OPS_CUDA_LAUNCH_OF_H_

#include <cstddef>

#include "core/base/check.h"
#include "core/device/cuda/span.h"
#include "core/ops/activate.h"
#include "core/ops/attention.h"
#include "core/ops/attention_mass.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/kv_cache.h"
#include "core/ops/norm.h"
#include "core/ops/rotate.h"
#include "core/ops/tensor.h"

namespace banyan {

inline DeviceSpan LiveOf(const Live& live) {
  return live.empty() ? DeviceSpan() : ListOf(live.at, 1);
}

inline NormLaunch LaunchOf(const NormArgs& args) {
  return {.x = MatrixOf(args.x),
          .weight = MatrixOf(args.weight),
          .bias = MatrixOf(args.bias),
          .epsilon = args.epsilon,
          .center = args.center,
          .y = MatrixOf(args.y)};
}

inline RotateLaunch LaunchOf(const RotateArgs& args) {
  return {.x = MatrixOf(args.x),
          .head_dim = args.head_dim,
          .angles = MatrixOf(args.angles),
          .norm_weight = MatrixOf(args.norm_weight),
          .epsilon = args.epsilon,
          .scale = args.scale};
}

inline ActivateLaunch LaunchOf(const ActivateArgs& args) {
  return {.gelu = args.function == Nonlinearity::kGeluTanh,
          .x = MatrixOf(args.x),
          .up = MatrixOf(args.up),
          .y = MatrixOf(args.y),
          .add = args.add};
}

inline StoreKvLaunch LaunchOf(const StoreKvArgs& args) {
  Check(args.first_slot + args.length.most + args.keys.rows <=
            args.cache->capacity,
        "keys and values without room");
  return {.keys = MatrixOf(args.keys),
          .values = MatrixOf(args.values),
          .cache = KvOf(*args.cache),
          .first_slot = args.first_slot,
          .length = LiveOf(args.length)};
}

inline AttentionLaunch LaunchOf(const AttentionArgs& args) {
  return {.queries = MatrixOf(args.queries),
          .heads = args.heads,
          .prefix = KvOf(*args.prefix),
          .committed = args.committed,
          .length = LiveOf(args.length),
          .longest = args.length.most,
          .pending = KvOf(*args.pending),
          .pending_slot = args.pending_slot,
          .first_pending = args.first_pending,
          .visible = ListOf(args.visible,
                            static_cast<std::size_t>(args.queries.rows) *
                                static_cast<std::size_t>(args.visible_words)),
          .visible_words = args.visible_words,
          .window = args.window,
          .y = MatrixOf(args.y)};
}

inline AttentionMassLaunch LaunchOf(const AttentionMassArgs& args) {
  return {.queries = MatrixOf(args.queries),
          .heads = args.heads,
          .prefix = KvOf(*args.prefix),
          .committed = args.committed,
          .chunk = args.chunk,
          .y = MatrixOf(args.y)};
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_LAUNCH_OF_H_
