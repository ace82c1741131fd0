// Rows of activations as fragments of a product with a q8 weight: the quants of
// core/ops/weight.h with a scale for each block. The rows are those of a
// matrix, or are computed on the way, by the op before the product.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_PACKED_ROWS_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_PACKED_ROWS_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/base/weight_format.h"
#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/attended.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/normed_rows.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"

namespace banyan::BANYAN_MAKER {

constexpr int kPackWarps = 8;

// Packed activations: for each 8 rows and each tile of columns a word pair for
// each lane, and after all of those a scale for each row and tile.
struct Packed {
  std::int64_t tiles;
  std::int64_t groups;  // of 8 rows

  BANYAN_DEVICE std::int64_t Pair(int group, std::int64_t tile,
                                  int lane) const {
    return ((group * tiles + tile) * 32 + lane) * 2;
  }
  BANYAN_DEVICE std::int64_t Scale(int group, std::int64_t tile,
                                   int row) const {
    return groups * tiles * 64 + (group * tiles + tile) * 8 + row;
  }
};

// How a row's numbers in one tile become words: by four lanes that follow each
// other, `place` of them; all of a warp come along.
template <typename Value>
BANYAN_DEVICE void PutQuants(const Thread& t, const Packed& packed,
                             const Global<std::uint32_t>& words, bool there,
                             int row, std::int64_t tile, int place,
                             const Value& value) {
  float numbers[8];
  float largest = 0;
  bool finite = true;
  BANYAN_UNROLL for (int i = 0; i < 8; ++i) {
    numbers[i] = value(static_cast<int>(tile) * 32 + place * 8 + i);
    const float magnitude = fabsf(numbers[i]);
    finite = finite && IsFinite(magnitude);
    largest = fmaxf(largest, magnitude);
  }
  for (int lanes = 1; lanes < 4; lanes *= 2)
    largest = fmaxf(largest, t.ShuffleXor(largest, lanes));
  const std::uint32_t wrong = t.Ballot(!finite);
  finite = (wrong >> (t.lane() / 4 * 4) & 0xfU) == 0;
  const float inverse = finite && largest >= kQ8Least ? 127.0F / largest : 0.0F;
  Pack<std::uint32_t, 2> pair;
  BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
    pair.at[half] = 0;
    BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
      if (finite)
        pair.at[half] |= (static_cast<std::uint32_t>(static_cast<std::int32_t>(
                              rintf(numbers[half * 4 + i] * inverse))) &
                          0xffU)
                         << (8 * i);
    }
  }
  if (!there) return;
  words.template WritePack<2>(packed.Pair(row / 8, tile, row % 8 * 4 + place),
                              pair);
  // What is not finite makes the scale, and so the row, NaN.
  if (place == 0)
    words.Write(
        packed.Scale(row / 8, tile, row % 8),
        std::bit_cast<std::uint32_t>(finite ? largest / 127.0F : nanf("")));
}

// Where the rows' numbers come from.
struct OfMatrix {
  OfMatrix(CudaDevice& device, const LinearLaunch& launch)
      : x(device, launch.x) {}
  BANYAN_DEVICE float Value(int row, int column) const {
    return x.Read(row, column);
  }
  Matrix<const float> x;
};

struct OfAttention {
  OfAttention(CudaDevice& device, const LinearLaunch& launch)
      : attended(device, *launch.attention, launch.attention_scratch) {}
  BANYAN_DEVICE float Value(int row, int column) const {
    return attended.Value(row, column);
  }
  Attended attended;
};

// A warp a tile of 8 rows.
template <typename Source>
struct PackKernel {
  static constexpr const char* kName = "pack_q8";
  static constexpr bool kAwaits = true;
  Source source;
  int rows;
  int columns;
  Packed packed;
  Global<std::uint32_t> words;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const std::int64_t item = std::int64_t{t.block()} * kPackWarps + t.warp();
    if (item >= packed.groups * packed.tiles) return;
    const int row = static_cast<int>(item / packed.tiles) * 8 + t.lane() / 4;
    PutQuants(t, packed, words, true, row, item % packed.tiles, t.lane() % 4,
              [&](int column) {
                return row < rows && column < columns
                           ? source.Value(row, column)
                           : 0.0F;
              });
  }
};

// A block a row, those that only fill up the last 8 included.
struct PackNormedKernel {
  static constexpr const char* kName = "pack_q8";
  static constexpr bool kAwaits = true;
  NormedRows source;
  Packed packed;
  Global<std::uint32_t> words;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const int row = t.block();
    const bool there = row < source.x.rows;
    NormedRows::Size size;
    if (there) size = source.SizeOf(t, row);
    for (std::int64_t first = 0; first < packed.tiles;
         first += kNormThreads / 4) {
      const std::int64_t tile = first + t.index() / 4;
      PutQuants(t, packed, words, tile < packed.tiles, row, tile, t.lane() % 4,
                [&](int column) {
                  return there && column < source.x.columns
                             ? source.Value(size, row, column)
                             : 0.0F;
                });
    }
  }
};

inline Packed PackedOf(const LinearLaunch& launch) {
  return {(launch.x.columns + kQ8Block - 1) / kQ8Block,
          (launch.x.rows + 7) / 8};
}

template <typename Source>
void PackFrom(CudaDevice& device, const LinearLaunch& launch) {
  const Packed packed = PackedOf(launch);
  Launch(device,
         {.blocks = static_cast<int>(
              (packed.groups * packed.tiles + kPackWarps - 1) / kPackWarps),
          .threads = kPackWarps * 32},
         PackKernel<Source>{{device, launch},
                            launch.x.rows,
                            launch.x.columns,
                            packed,
                            {device, launch.scratch}});
}

inline void PackRows(CudaDevice& device, const LinearLaunch& launch) {
  switch (launch.source) {
    case LinearSource::kMatrix:
      return PackFrom<OfMatrix>(device, launch);
    case LinearSource::kAttention:
      return PackFrom<OfAttention>(device, launch);
    case LinearSource::kNorm:
      break;
  }
  const Packed packed = PackedOf(launch);
  Launch(device,
         {.blocks = static_cast<int>(packed.groups) * 8,
          .threads = kNormThreads,
          .shared_bytes = NormedRows::SharedBytes(*launch.norm)},
         PackNormedKernel{
             {device, *launch.norm}, packed, {device, launch.scratch}});
}

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_PACKED_ROWS_H_
