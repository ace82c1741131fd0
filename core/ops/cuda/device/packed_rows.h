// Rows of activations as fragments of a product: as bfloat16s, or as the quants
// of core/ops/weight.h with a scale for each block of 32. A product of few rows
// makes them where it multiplies; for many rows a launch of its own packs them
// once, as every block of the product would else make them anew.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_PACKED_ROWS_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_PACKED_ROWS_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/base/weight_format.h"
#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/number_rows.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"

namespace banyan::BANYAN_MAKER {

// Packed activations: for each 8 rows and each tile of columns a word pair for
// each lane, and after all of those, if they are quants, a scale for each row
// and tile.
struct Packed {
  std::int64_t tiles;
  std::int64_t groups;  // of 8 rows
  bool scaled;

  BANYAN_DEVICE std::int64_t Pair(int group, std::int64_t tile,
                                  int lane) const {
    return ((group * tiles + tile) * 32 + lane) * 2;
  }
  BANYAN_DEVICE std::int64_t Scale(int group, std::int64_t tile,
                                   int row) const {
    return groups * tiles * 64 + (group * tiles + tile) * 8 + row;
  }
  std::int64_t words() const { return groups * tiles * (scaled ? 72 : 64); }
};

// A lane's four numbers of a row.
BANYAN_DEVICE Pack<std::uint32_t, 2> Bf16Words(const float (&numbers)[4]) {
  return {{ToBf16(numbers[0]) | ToBf16(numbers[1]) << 16,
           ToBf16(numbers[2]) | ToBf16(numbers[3]) << 16}};
}

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
  const bool scaled = launch.weight.format == WeightFormat::kQ8;
  const int width = scaled ? kQ8Block : 16;
  return {(launch.x.columns + width - 1) / width, (launch.x.rows + 7) / 8,
          scaled};
}

// A block of eight warps has eight rows; of their tiles a warp has one.
template <bool kScaled>
struct PackKernel {
  static constexpr const char* kName = kScaled ? "pack_q8" : "pack_bf16";
  static constexpr bool kAwaits = true;
  static constexpr int kWarps = 8;
  static constexpr int kPacks = kScaled ? 2 : 1;  // of a lane
  NumberRows rows;
  Packed packed;
  Global<std::uint32_t> words;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const int across = static_cast<int>((packed.tiles + kWarps - 1) / kWarps);
    const int group = t.block() / across;
    float scale[1] = {};
    rows.ReadScales(t, group * 8, t.SharedArray<float>(0, 8), scale);
    const int tile = t.block() % across * kWarps + t.warp();
    if (tile >= packed.tiles) return;
    float numbers[kPacks * 4];
    rows.template Load<kPacks>(t, group * 8, tile * kPacks * 16, scale[0],
                               numbers);
    if constexpr (kScaled) {
      const Quants quants = QuantsOf(t, numbers);
      words.template WritePack<2>(packed.Pair(group, tile, t.lane()),
                                  quants.words);
      if (t.lane() % 4 == 0)
        words.Write(packed.Scale(group, tile, t.lane() / 4),
                    std::bit_cast<std::uint32_t>(quants.scale));
    } else {
      words.template WritePack<2>(packed.Pair(group, tile, t.lane()),
                                  Bf16Words(numbers));
    }
  }
};

template <bool kScaled>
void PackRows(CudaDevice& device, const LinearLaunch& launch) {
  using Kernel = PackKernel<kScaled>;
  const Packed packed = PackedOf(launch);
  const auto across =
      static_cast<int>((packed.tiles + Kernel::kWarps - 1) / Kernel::kWarps);
  Launch(device,
         {.blocks = static_cast<int>(packed.groups) * across,
          .threads = Kernel::kWarps * 32,
          .shared_bytes = 8 * static_cast<int>(sizeof(float))},
         Kernel{{device, launch}, packed, {device, launch.scratch}});
}

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_PACKED_ROWS_H_
