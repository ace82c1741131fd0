// Rows of activations as fragments of a product with a q8 weight: the quants of
// core/ops/weight.h with a scale for each block of 32. A product of few rows
// makes them where it multiplies; for many rows a launch of its own packs them
// once, as every block of the product would else make them anew.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_PACKED_ROWS_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_PACKED_ROWS_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/number_rows.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"

namespace banyan::BANYAN_MAKER {

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

// A lane's eight numbers of a row's block, which four lanes that follow each
// other have; all of a warp come along.
struct Quants {
  Pack<std::uint32_t, 2> words;
  float scale;  // of the block
};
BANYAN_DEVICE Quants QuantsOf(const Thread& t, const float (&numbers)[8]) {
  float largest = 0;
  bool finite = true;
  BANYAN_UNROLL for (int i = 0; i < 8; ++i) {
    const float magnitude = fabsf(numbers[i]);
    finite = finite && IsFinite(magnitude);
    largest = fmaxf(largest, magnitude);
  }
  for (int lanes = 1; lanes < 4; lanes *= 2)
    largest = fmaxf(largest, t.ShuffleXor(largest, lanes));
  const std::uint32_t wrong = t.Ballot(!finite);
  finite = (wrong >> (t.lane() / 4 * 4) & 0xfU) == 0;
  const float inverse = finite && largest >= kQ8Least ? 127.0F / largest : 0.0F;
  // NaN or infinity in a block makes its scale, and so the row's results, NaN.
  Quants quants = {{}, finite ? largest / 127.0F : nanf("")};
  BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
    quants.words.at[half] = 0;
    BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
      if (finite)
        quants.words.at[half] |=
            (static_cast<std::uint32_t>(static_cast<std::int32_t>(
                 rintf(numbers[half * 4 + i] * inverse))) &
             0xffU)
            << (8 * i);
    }
  }
  return quants;
}

inline Packed PackedOf(const LinearLaunch& launch) {
  return {(launch.x.columns + kQ8Block - 1) / kQ8Block,
          (launch.x.rows + 7) / 8};
}

// A block of eight warps has eight rows; of their tiles a warp has one.
struct PackKernel {
  static constexpr const char* kName = "pack_q8";
  static constexpr bool kAwaits = true;
  static constexpr int kWarps = 8;
  NumberRows rows;
  Packed packed;
  Global<std::uint32_t> words;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const int across = static_cast<int>((packed.tiles + kWarps - 1) / kWarps);
    const int group = t.block() / across;
    float scale[1] = {};
    rows.ReadScales(t, group * 8, t.SharedArray<float>(0, 8), scale);
    const std::int64_t tile =
        std::int64_t{t.block() % across} * kWarps + t.warp();
    if (tile >= packed.tiles) return;
    const int row = group * 8 + t.lane() / 4;
    const int column = static_cast<int>(tile) * kQ8Block + t.lane() % 4 * 8;
    float numbers[8];
    BANYAN_UNROLL for (int i = 0; i < 8; ++i) numbers[i] =
        rows.Value(row, column + i, scale[0]);
    const Quants quants = QuantsOf(t, numbers);
    words.template WritePack<2>(packed.Pair(group, tile, t.lane()),
                                quants.words);
    if (t.lane() % 4 == 0)
      words.Write(packed.Scale(group, tile, t.lane() / 4),
                  std::bit_cast<std::uint32_t>(quants.scale));
  }
};

inline void PackRows(CudaDevice& device, const LinearLaunch& launch) {
  const Packed packed = PackedOf(launch);
  constexpr int kWarps = PackKernel::kWarps;
  const auto across = static_cast<int>((packed.tiles + kWarps - 1) / kWarps);
  Launch(device,
         {.blocks = static_cast<int>(packed.groups) * across,
          .threads = kWarps * 32,
          .shared_bytes = 8 * static_cast<int>(sizeof(float))},
         PackKernel{{device, launch}, packed, {device, launch.scratch}});
}

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_PACKED_ROWS_H_
