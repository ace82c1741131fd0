// Rows of activations as a product's fragments: as bfloat16s, or for q8 as the
// quants of core/ops/weight.h with a scale for each block. The rows are those
// of a matrix, or are computed on the way, by the op before the product.
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
// each lane; of q8 also a scale for each row and tile, after all of those.
struct Packed {
  std::int64_t tiles;
  std::int64_t groups;  // of 8 rows
  int rows;             // the others are 0, and not read

  BANYAN_DEVICE std::int64_t Pair(int group, std::int64_t tile,
                                  int lane) const {
    return ((group * tiles + tile) * 32 + lane) * 2;
  }
  // What a lane has of 8 rows' tile.
  BANYAN_DEVICE Pack<std::uint32_t, 2> Read(
      const Global<const std::uint32_t>& x, int group, std::int64_t tile,
      int lane) const {
    // For a missing row, loads the group's first: the result is never read, and
    // a load that depends on nothing can overlap with others.
    const int own = group * 8 + lane / 4 < rows ? lane : lane % 4;
    return x.template ReadPack<2>(Pair(group, tile, own));
  }
  BANYAN_DEVICE std::int64_t Scale(int group, std::int64_t tile,
                                   int row) const {
    return groups * tiles * 64 + (group * tiles + tile) * 8 + row;
  }
};

// How a row's numbers in one tile become words: by four lanes that follow each
// other, `place` of them; all of a warp come along.
struct Bf16Packer {
  static constexpr const char* kName = "pack_bf16";

  template <typename Value>
  BANYAN_DEVICE static void Put(const Thread& /*t*/, const Packed& packed,
                                const Global<std::uint32_t>& words, bool there,
                                int row, std::int64_t tile, int place,
                                const Value& value) {
    Pack<std::uint32_t, 2> pair;
    BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
      const int column = static_cast<int>(tile) * 16 + half * 8 + place * 2;
      pair.at[half] = ToBf16(value(column)) | ToBf16(value(column + 1)) << 16;
    }
    if (there)
      words.template WritePack<2>(
          packed.Pair(row / 8, tile, row % 8 * 4 + place), pair);
  }
};

struct Q8Packer {
  static constexpr const char* kName = "pack_q8";

  template <typename Value>
  BANYAN_DEVICE static void Put(const Thread& t, const Packed& packed,
                                const Global<std::uint32_t>& words, bool there,
                                int row, std::int64_t tile, int place,
                                const Value& value) {
    float numbers[8];
    float largest = 0;
    bool finite = true;
    BANYAN_UNROLL for (int i = 0; i < 8; ++i) {
      numbers[i] =
          value(static_cast<int>(tile) * 32 + i / 4 * 16 + place * 4 + i % 4);
      const float magnitude = fabsf(numbers[i]);
      finite = finite && IsFinite(magnitude);
      largest = fmaxf(largest, magnitude);
    }
    for (int lanes = 1; lanes < 4; lanes *= 2)
      largest = fmaxf(largest, t.ShuffleXor(largest, lanes));
    const std::uint32_t wrong = t.Ballot(!finite);
    finite = (wrong >> (t.lane() / 4 * 4) & 0xfU) == 0;
    const float inverse =
        finite && largest >= kQ8Least ? 127.0F / largest : 0.0F;
    Pack<std::uint32_t, 2> pair;
    BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
      pair.at[half] = 0;
      BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
        if (finite)
          pair.at[half] |=
              (static_cast<std::uint32_t>(static_cast<std::int32_t>(
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
};

// Where the rows' numbers come from.
struct OfMatrix {
  OfMatrix(CudaDevice& device, const LinearLaunch& launch)
      : x(device, launch.x) {}
  BANYAN_DEVICE float Value(int row, int column) const {
    return x.Read(row, column);
  }
  Matrix<const float> x;
};

struct OfActivation {
  OfActivation(CudaDevice& device, const LinearLaunch& launch)
      : gelu(launch.activate->function == Nonlinearity::kGeluTanh),
        x(device, launch.activate->x),
        up(device, launch.activate->up) {}
  BANYAN_DEVICE float Value(int row, int column) const {
    const float value = Activated(gelu, x.Read(row, column));
    return up.empty() ? value : value * up.Read(row, column);
  }
  bool gelu;
  Matrix<const float> x;
  Matrix<const float> up;
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
template <typename Packer, typename Source>
struct PackKernel {
  static constexpr const char* kName = Packer::kName;
  Source source;
  int rows;
  int columns;
  Packed packed;
  Global<std::uint32_t> words;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const std::int64_t item = std::int64_t{t.block()} * kPackWarps + t.warp();
    if (item >= packed.groups * packed.tiles) return;
    const int row = static_cast<int>(item / packed.tiles) * 8 + t.lane() / 4;
    Packer::Put(t, packed, words, true, row, item % packed.tiles, t.lane() % 4,
                [&](int column) {
                  return row < rows && column < columns
                             ? source.Value(row, column)
                             : 0.0F;
                });
  }
};

// A block a row, those that only fill up the last 8 included.
template <typename Packer>
struct PackNormedKernel {
  static constexpr const char* kName = Packer::kName;
  NormedRows source;
  Packed packed;
  Global<std::uint32_t> words;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int row = t.block();
    const bool there = row < source.x.rows;
    NormedRows::Size size;
    if (there) size = source.SizeOf(t, row);
    for (std::int64_t first = 0; first < packed.tiles;
         first += kNormThreads / 4) {
      const std::int64_t tile = first + t.index() / 4;
      Packer::Put(t, packed, words, tile < packed.tiles, row, tile,
                  t.lane() % 4, [&](int column) {
                    return there && column < source.x.columns
                               ? source.Value(size, row, column)
                               : 0.0F;
                  });
    }
  }
};

inline Packed PackedOf(const LinearLaunch& launch) {
  const int width = launch.weight.format == WeightFormat::kQ8 ? 32 : 16;
  return {(launch.x.columns + width - 1) / width, (launch.x.rows + 7) / 8,
          launch.x.rows};
}

template <typename Packer, typename Source>
void PackFrom(CudaDevice& device, const LinearLaunch& launch) {
  const Packed packed = PackedOf(launch);
  Launch(device,
         {.blocks = static_cast<int>(
              (packed.groups * packed.tiles + kPackWarps - 1) / kPackWarps),
          .threads = kPackWarps * 32},
         PackKernel<Packer, Source>{{device, launch},
                                    launch.x.rows,
                                    launch.x.columns,
                                    packed,
                                    {device, launch.scratch}});
}

template <typename Packer>
void PackRows(CudaDevice& device, const LinearLaunch& launch) {
  switch (launch.source) {
    case LinearSource::kMatrix:
      return PackFrom<Packer, OfMatrix>(device, launch);
    case LinearSource::kActivate:
      return PackFrom<Packer, OfActivation>(device, launch);
    case LinearSource::kAttention:
      return PackFrom<Packer, OfAttention>(device, launch);
    case LinearSource::kNorm:
      break;
  }
  const Packed packed = PackedOf(launch);
  Launch(device,
         {.blocks = static_cast<int>(packed.groups) * 8,
          .threads = kNormThreads,
          .shared_bytes = kNormSharedBytes},
         PackNormedKernel<Packer>{
             {device, *launch.norm}, packed, {device, launch.scratch}});
}

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_PACKED_ROWS_H_
