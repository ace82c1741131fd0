// What attention leaves before its stretches are added up.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_ATTENDED_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_ATTENDED_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/device/cuda/span.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/device/scores.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {

constexpr int kStretch = 128;  // positions

// How rows, heads and positions are shared out.
struct Stretches {
  Stretches() = default;
  explicit Stretches(const AttentionArgs& args)
      : rows(args.queries.rows),
        heads(args.heads),
        group(args.heads / args.prefix->kv_heads),
        tiles((rows * group + kQueriesOfAWarp - 1) / kQueriesOfAWarp),
        // As if the last row saw every pending one.
        pending(args.first_pending + rows),
        stretches((args.committed + args.length.most + pending + kStretch - 1) /
                  kStretch),
        head_dim(args.prefix->head_dim),
        width(KvWidth(head_dim)) {}

  // Numbers of all partial results: of a query its sum of values, the largest
  // score, the sum of weights.
  std::size_t Partials() const {
    return static_cast<std::size_t>(heads / group) *
           static_cast<std::size_t>(tiles) *
           static_cast<std::size_t>(stretches) * kQueriesOfAWarp *
           static_cast<std::size_t>(width + 4);
  }
  BANYAN_DEVICE std::int64_t Partial(int kv_head, int tile, int stretch,
                                     int query) const {
    return (((std::int64_t{kv_head} * tiles + tile) * stretches + stretch) *
                kQueriesOfAWarp +
            query) *
           (width + 4);
  }

  int rows = 0;
  int heads = 0;
  int group = 1;      // heads that share keys
  int tiles = 0;      // of queries, of one key head
  int pending = 0;    // that a row sees at most
  int stretches = 0;  // of the longest row
  int head_dim = 0;
  int width = 0;  // of a key
};

// The pending rows that a row sees, by depth.
struct Ancestors {
  Ancestors() = default;
  Ancestors(CudaDevice& device, const AttentionArgs& args)
      : visible(device,
                ListOf(args.visible,
                       static_cast<std::size_t>(args.queries.rows) *
                           static_cast<std::size_t>(args.visible_words))),
        words(args.visible_words) {}

  BANYAN_DEVICE static int Bits(std::uint32_t x) {
    x = x - (x >> 1 & 0x55555555U);
    x = (x & 0x33333333U) + (x >> 2 & 0x33333333U);
    return static_cast<int>((((x + (x >> 4)) & 0x0f0f0f0fU) * 0x01010101U) >>
                            24);
  }
  BANYAN_DEVICE std::uint32_t Word(int row, int word) const {
    return static_cast<std::uint32_t>(
        visible.Read(std::int64_t{row} * words + word));
  }
  BANYAN_DEVICE int Count(int row) const {
    int count = 0;
    for (int word = 0; word < words; ++word) count += Bits(Word(row, word));
    return count;
  }
  // Of the one at this depth, from 0.
  BANYAN_DEVICE int Place(int row, int depth) const {
    int word = 0;
    std::uint32_t bits = Word(row, 0);
    for (int here = Bits(bits); depth >= here; here = Bits(bits)) {
      depth -= here;
      bits = Word(row, ++word);
    }
    for (; depth > 0; --depth) bits &= bits - 1;
    return word * 32 + Bits((bits & (~bits + 1)) - 1);
  }

  Global<const std::int32_t> visible;
  int words = 0;
};

// The stretches of a query, in order.
struct Attended {
  Attended() = default;
  Attended(CudaDevice& device, const AttentionArgs& args, DeviceSpan scratch)
      : of(args),
        ancestors(device, args),
        committed(args.committed),
        live(device, LiveOf(args.length)),
        partials(device, scratch) {}

  // Number `column` of a row of all heads.
  BANYAN_DEVICE float Value(int row, int column) const {
    const int head = column / of.head_dim;
    const int i = column % of.head_dim;
    const int query = row * of.group + head % of.group;
    const int length = committed + LiveNumber(live) + ancestors.Count(row);
    const int count = (length + kStretch - 1) / kStretch;
    const auto at = [&](int stretch) {
      return of.Partial(head / of.group, query / kQueriesOfAWarp, stretch,
                        query % kQueriesOfAWarp);
    };
    float largest = -INFINITY;
    for (int stretch = 0; stretch < count; ++stretch)
      largest = fmaxf(largest, partials.Read(at(stretch) + of.width));
    float sum = 0;
    float value = 0;
    for (int stretch = 0; stretch < count; ++stretch) {
      const std::int64_t first = at(stretch);
      const float own = partials.Read(first + of.width);
      const float part = partials.Read(first + of.width + 1);
      // One that sees nothing of the stretch; NaN is seen.
      if (own == -INFINITY && part == 0) continue;
      const float weight = own == largest ? 1.0F : Exp(own - largest);
      sum = fmaf(part, weight, sum);
      value = fmaf(partials.Read(first + i), weight, value);
    }
    return value / sum;
  }

  Stretches of;
  Ancestors ancestors;
  int committed = 0;
  Global<const std::int32_t> live;
  Global<const float> partials;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_ATTENDED_H_
