// Products of fragments by format: what a lane has of a tile of the weight and
// of 8 rows of x, how both come to a ring of the block's memory, and their
// product.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_PRODUCTS_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_PRODUCTS_H_

#include <array>
#include <bit>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/device/cuda/pack.h"
#include "core/ops/cuda/device/number_rows.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/device/packed_rows.h"
#include "core/ops/cuda/device/weight_reader.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {

// A warp's part of the block's memory, as words and as floats.
struct Ring {
  Shared<std::uint32_t> words;
  Shared<float> floats;
};

// A lane's words of a weight's tile.
struct WeightTile {
  BANYAN_DEVICE static void AskWeight(const Thread& t, const Ring& ring, int at,
                                      const WeightReader& weight,
                                      std::int64_t first) {
    ring.words.CopyAhead(at + t.lane() * 4, weight.words, first + t.lane() * 4);
  }
  BANYAN_DEVICE void Read(const Thread& t, const Ring& ring, int at) {
    words = ring.words.template ReadPack<4>(at + t.lane() * 4);
  }

  Pack<std::uint32_t, 4> words;
};

// What products of bfloat16s share, wherever the rows were rounded.
struct Bf16Weight : WeightTile {
  static constexpr const char* kName = "linear_bf16";
  static constexpr bool kScaled = false;
  static constexpr int kWeightWords = 128;  // of a tile, in a ring

  using Rows = Pack<std::uint32_t, 2>;

  BANYAN_DEVICE void AddTo(const Thread& t, const Rows& rows,
                           std::array<float, 4>& sums) const {
    t.Multiply({words.at[0], words.at[1], words.at[2], words.at[3]},
               {rows.at[0], rows.at[1]}, sums);
  }
};

// Rows are rounded where they are multiplied.
struct Bf16Product : Bf16Weight {
  static constexpr bool kShared = false;  // a lane reads what it asked for
  static constexpr int kRowsWords = 128;  // of 8 rows of a tile

  using Source = NumberRows;

  BANYAN_DEVICE static void AskRows(const Thread& t, const Ring& ring, int at,
                                    const Source& of, int group, int tile) {
    of.Ask<1>(t, ring.floats, at, group * 8, tile * 16);
  }
  // `scale` is that of the lane's row.
  BANYAN_DEVICE static Rows RowsOf(const Thread& t, const Ring& ring, int at,
                                   const Source& of, int group, int tile,
                                   float scale) {
    float numbers[4];
    of.Read<1>(t, ring.floats, at, group * 8, tile * 16, scale, numbers);
    return Bf16Words(numbers);
  }
};

// Rows that a launch of their own has packed.
struct PackedRows {
  PackedRows(CudaDevice& device, const LinearLaunch& launch)
      : packed(PackedOf(launch)), words(device, launch.scratch) {}
  // There is nothing to scale.
  template <int kGroups>
  BANYAN_DEVICE void ReadScales(const Thread& /*t*/, int /*first*/,
                                const Shared<float>& /*shared*/,
                                float (&/*scales*/)[kGroups]) const {}
  // The words of a tile of 8 rows, by the first sixteen lanes.
  BANYAN_DEVICE void Ask(const Thread& t, const Ring& ring, int at, int group,
                         int tile) const {
    if (group < packed.groups && t.lane() < 16)
      ring.words.CopyAhead(at + t.lane() * 4, words,
                           packed.Pair(group, tile, t.lane() * 2));
  }

  Packed packed;
  Global<const std::uint32_t> words;
};

struct PackedBf16Product : Bf16Weight {
  static constexpr bool kShared = true;
  static constexpr int kRowsWords = 64;

  using Source = PackedRows;

  BANYAN_DEVICE static void AskRows(const Thread& t, const Ring& ring, int at,
                                    const Source& of, int group, int tile) {
    of.Ask(t, ring, at, group, tile);
  }
  BANYAN_DEVICE static Rows RowsOf(const Thread& t, const Ring& ring, int at,
                                   const Source& of, int group, int /*tile*/,
                                   float /*scale*/) {
    if (group >= of.packed.groups) return {};
    return ring.words.template ReadPack<2>(at + t.lane() * 2);
  }
};

// What products of q8 weights share, wherever the rows were quantised.
struct Q8Weight : WeightTile {
  static constexpr const char* kName = "linear_q8";
  static constexpr bool kScaled = true;
  static constexpr bool kShared = true;
  static constexpr int kWeightWords = 128 + 8;  // scales last

  struct Rows {
    Pack<std::uint32_t, 2> words;
    float scales[2];  // of the two rows that the lane has sums of
  };

  float low;  // the scales of the lane's two rows
  float high;

  BANYAN_DEVICE static void AskWeight(const Thread& t, const Ring& ring, int at,
                                      const WeightReader& weight,
                                      std::int64_t first) {
    WeightTile::AskWeight(t, ring, at, weight, first);
    if (t.lane() < 2)
      ring.words.CopyAhead(at + 128 + t.lane() * 4, weight.scales,
                           first / 128 * 8 + t.lane() * 4);
  }
  BANYAN_DEVICE void Read(const Thread& t, const Ring& ring, int at) {
    WeightTile::Read(t, ring, at);
    const std::uint32_t both = ring.words.Read(at + 128 + t.lane() / 4);
    low = FromBf16(both & 0xffffU);
    high = FromBf16(both >> 16);
  }
  BANYAN_DEVICE void AddTo(const Thread& t, const Rows& rows,
                           std::array<float, 4>& sums) const {
    std::array<std::int32_t, 4> whole = {};
    t.MultiplyBytes({words.at[0], words.at[1], words.at[2], words.at[3]},
                    {rows.words.at[0], rows.words.at[1]}, whole);
    BANYAN_UNROLL for (int i = 0; i < 4; ++i) sums[i] =
        fmaf(static_cast<float>(whole[i]) * rows.scales[i % 2],
             i < 2 ? low : high, sums[i]);
  }
};

// Rows are quantised where they are multiplied.
struct Q8Product : Q8Weight {
  static constexpr int kRowsWords = 256;

  using Source = NumberRows;

  BANYAN_DEVICE static void AskRows(const Thread& t, const Ring& ring, int at,
                                    const Source& of, int group, int tile) {
    of.Ask<2>(t, ring.floats, at, group * 8, tile * 32);
  }
  BANYAN_DEVICE static Rows RowsOf(const Thread& t, const Ring& ring, int at,
                                   const Source& of, int group, int tile,
                                   float scale) {
    float numbers[8];
    of.Read<2>(t, ring.floats, at, group * 8, tile * 32, scale, numbers);
    const Quants quants = QuantsOf(t, numbers);
    // Of rows 2 (lane % 4) and the next one.
    const int from = t.lane() % 4 * 8;
    return {quants.words,
            {t.ShuffleFrom(quants.scale, from),
             t.ShuffleFrom(quants.scale, from + 4)}};
  }
};

struct PackedQ8Product : Q8Weight {
  static constexpr int kRowsWords = 64 + 8;

  using Source = PackedRows;

  BANYAN_DEVICE static void AskRows(const Thread& t, const Ring& ring, int at,
                                    const Source& of, int group, int tile) {
    of.Ask(t, ring, at, group, tile);
    if (group < of.packed.groups && t.lane() >= 16 && t.lane() < 18)
      ring.words.CopyAhead(at + t.lane() * 4, of.words,
                           of.packed.Scale(group, tile, t.lane() * 4 - 64));
  }
  BANYAN_DEVICE static Rows RowsOf(const Thread& t, const Ring& ring, int at,
                                   const Source& of, int group, int /*tile*/,
                                   float /*scale*/) {
    if (group >= of.packed.groups) return {};
    const Pack<std::uint32_t, 2> scales =
        ring.words.template ReadPack<2>(at + 64 + t.lane() % 4 * 2);
    return {ring.words.template ReadPack<2>(at + t.lane() * 2),
            {std::bit_cast<float>(scales.at[0]),
             std::bit_cast<float>(scales.at[1])}};
  }
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_PRODUCTS_H_
