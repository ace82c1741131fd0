// Linear in tile registers (tiles.h), whoever makes them.
//
// The order of sums with bfloat16 weights: columns in blocks of 32. A row of
// activations is split in two bfloat16 parts (SplitRow); a block's products
// with the high parts are added as MultiplyPairs says, then those with the low
// parts. With 8-bit weights sums are those of tile_q8-inl.h, to the last bit.
#if defined(BANYAN_CORE_OPS_CPU_LINEAR_TILES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef BANYAN_CORE_OPS_CPU_LINEAR_TILES_INL_H_
#undef BANYAN_CORE_OPS_CPU_LINEAR_TILES_INL_H_
#else
#define BANYAN_CORE_OPS_CPU_LINEAR_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tile-inl.h"
#include "core/ops/cpu/tile_q8-inl.h"
#include "core/ops/cpu/tiles-inl.h"
#include "core/ops/cpu/tiles.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "hwy/highway.h"

#if HWY_TARGET == HWY_AVX3_DL
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR
                    ",avx512vnni")  // as tile_q8-inl.h, which is inlined
#else
HWY_BEFORE_NAMESPACE();
#endif
namespace banyan::HWY_NAMESPACE {

#if HWY_ARCH_X86_64
// Adds one block of 32 columns to the registers of sums: `left` and `right` are
// what registers are loaded from, sixteen rows or one panel further for the
// second.
template <int kRowTiles, int kPanels, class Tiles>
HWY_INLINE void AddPairBlock(Tiles& tiles, const SplitRows& x,
                             std::size_t column, const std::byte* right,
                             std::size_t panel) {
  const std::size_t stride = x.stride * sizeof(std::uint16_t);
  tiles.template Load<6>(right, kRegisterBytes);
  if constexpr (kPanels == 2)
    tiles.template Load<7>(right + panel, kRegisterBytes);
  for (const std::uint16_t* part : {x.high, x.low}) {
    tiles.template Load<4>(part + column, stride);
    tiles.template MultiplyPairs<0, 4, 6>();
    if constexpr (kPanels == 2) tiles.template MultiplyPairs<1, 4, 7>();
    if constexpr (kRowTiles == 2) {
      tiles.template Load<5>(part + column + kRegisterRows * x.stride, stride);
      tiles.template MultiplyPairs<2, 5, 6>();
      if constexpr (kPanels == 2) tiles.template MultiplyPairs<3, 5, 7>();
    }
  }
}

// Sixteen or 32 rows times one panel or two.
template <int kRowTiles, int kPanels, class Tiles>
HWY_NOINLINE void RunPairBlocks(Tiles& tiles, const PairWeights& w,
                                const SplitRows& x, std::size_t columns,
                                float* sums, std::size_t sums_stride) {
  const auto* at = reinterpret_cast<const std::byte*>(w.at);
  const std::size_t panel = w.panel * sizeof(std::uint32_t);
  tiles.template Zero<0>();
  tiles.template Zero<1>();
  tiles.template Zero<2>();
  tiles.template Zero<3>();
  std::size_t column = 0;
  for (; column + kPairColumns <= columns; column += kPairColumns)
    AddPairBlock<kRowTiles, kPanels>(tiles, x, column, at + column * 2 * kLane,
                                     panel);
  if (column < columns) {  // zeros follow a panel's last columns
    alignas(64) std::byte rest[kPanels][kRegisterRows * kRegisterBytes] = {};
    const std::size_t bytes = (columns - column + 1) / 2 * kRegisterBytes;
    for (std::size_t p = 0; p < kPanels; ++p)
      std::memcpy(rest[p], at + p * panel + column * 2 * kLane, bytes);
    AddPairBlock<kRowTiles, kPanels>(tiles, x, column, rest[0],
                                     sizeof(rest[0]));
  }
  const std::size_t stride = sums_stride * sizeof(float);
  tiles.template Store<0>(sums, stride);
  if constexpr (kPanels == 2) tiles.template Store<1>(sums + kLane, stride);
  if constexpr (kRowTiles == 2) {
    float* const second = sums + kRegisterRows * sums_stride;
    tiles.template Store<2>(second, stride);
    if constexpr (kPanels == 2) tiles.template Store<3>(second + kLane, stride);
  }
}

// All `rows` by `panels`. Rows of x and of sums are read and written up to a
// multiple of sixteen.
template <class Tiles>
void RunPairTiles(const PairWeights& w, const SplitRows& x, std::size_t columns,
                  int rows, int panels, float* sums, std::size_t sums_stride) {
  Tiles tiles(PairConfig(rows));
  for (int p = 0; p < panels; p += 2)
    for (int r = 0; r < rows; r += 32) {
      const auto row = static_cast<std::size_t>(r);
      const auto panel = static_cast<std::size_t>(p);
      const auto run = [&]<int kRowTiles, int kPanels>() {
        RunPairBlocks<kRowTiles, kPanels>(
            tiles, w.Panel(panel), x.From(row), columns,
            sums + row * sums_stride + panel * kLane, sums_stride);
      };
      const bool two_rows = rows - r > 16;
      const bool two_panels = panels - p > 1;
      if (two_rows && two_panels) run.template operator()<2, 2>();
      if (two_rows && !two_panels) run.template operator()<2, 1>();
      if (!two_rows && two_panels) run.template operator()<1, 2>();
      if (!two_rows && !two_panels) run.template operator()<1, 1>();
    }
}

// Adds a block's whole-number sums of sixteen columns to those of one row.
HWY_INLINE void AddFours(const std::int32_t* ints, std::int32_t correction,
                         Float x_scale, const Float* scales, float* sums) {
  const FloatTag d;
  const IntTag di;
  for (std::size_t part = 0; part < kParts; ++part) {
    const auto whole =
        hn::Add(hn::LoadU(di, ints + part * kWidth), hn::Set(di, correction));
    float* const sum = sums + part * kWidth;
    hn::StoreU(Fma(hn::Mul(hn::ConvertTo(d, whole), x_scale), scales[part],
                   hn::LoadU(d, sum)),
               d, sum);
  }
}

// All `rows` by `panels`, of 8-bit weights. Rows of x are read up to a multiple
// of sixteen.
template <class Tiles>
void RunFourTiles(const Q8Weights& w, const Q8Rows& x, int rows, int panels,
                  float* sums, std::size_t sums_stride) {
  constexpr std::size_t kBlockBytes = kLane * kQ8Block;
  Tiles tiles(FourConfig(rows));
  alignas(64) std::int32_t ints[2][kRegisterRows][kLane];
  for (int p = 0; p < panels; ++p) {
    const std::uint8_t* const at = w.at + static_cast<std::size_t>(p) * w.panel;
    const auto* const all_scales =
        reinterpret_cast<const std::uint16_t*>(at + w.scales_offset);
    float* const panel_sums = sums + static_cast<std::size_t>(p) * kLane;
    for (int r = 0; r < rows; ++r)
      std::fill_n(panel_sums + static_cast<std::size_t>(r) * sums_stride, kLane,
                  0.0F);
    for (std::size_t block = 0; block < x.blocks; ++block) {
      Float scales[kParts];
      LoadScales(all_scales + block * kLane, scales);
      tiles.template Load<6>(at + block * kBlockBytes, kRegisterBytes);
      for (int r = 0; r < rows; r += 32) {
        const auto row = static_cast<std::size_t>(r);
        const std::size_t stride = x.blocks * kQ8Block;
        const std::int8_t* const from =
            x.quants + row * stride + block * kQ8Block;
        tiles.template Zero<0>();
        tiles.template Load<4>(from, stride);
        tiles.template MultiplyFours<0, 4, 6>();
        tiles.template Store<0>(ints[0], kRegisterBytes);
        const int end = std::min(rows - r, 32);
        if (end > 16) {
          tiles.template Zero<1>();
          tiles.template Load<5>(from + kRegisterRows * stride, stride);
          tiles.template MultiplyFours<1, 5, 6>();
          tiles.template Store<1>(ints[1], kRegisterBytes);
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(end); ++i) {
          const std::size_t number = (row + i) * x.blocks + block;
          AddFours(ints[i / 16][i % 16], x.corrections[number],
                   hn::Set(FloatTag(), x.scales[number]), scales,
                   panel_sums + (row + i) * sums_stride);
        }
      }
    }
  }
}

// For the gauge: `rounds` times four products of registers. Of pairs, or of
// fours.
template <class Tiles>
HWY_NOINLINE std::int32_t MultiplyRegisters(bool pairs, std::size_t rounds) {
  Tiles tiles(pairs ? PairConfig(kRegisterRows) : FourConfig(kRegisterRows));
  alignas(64) std::int32_t sums[kRegisterRows][kLane] = {};
  tiles.template Load<4>(sums, kRegisterBytes);
  tiles.template Load<5>(sums, kRegisterBytes);
  tiles.template Load<6>(sums, kRegisterBytes);
  tiles.template Load<7>(sums, kRegisterBytes);
  tiles.template Zero<0>();
  tiles.template Zero<1>();
  tiles.template Zero<2>();
  tiles.template Zero<3>();
  for (std::size_t i = 0; i < rounds; ++i) {
    if (pairs) {
      tiles.template MultiplyPairs<0, 4, 6>();
      tiles.template MultiplyPairs<1, 4, 7>();
      tiles.template MultiplyPairs<2, 5, 6>();
      tiles.template MultiplyPairs<3, 5, 7>();
    } else {
      tiles.template MultiplyFours<0, 4, 6>();
      tiles.template MultiplyFours<1, 4, 7>();
      tiles.template MultiplyFours<2, 5, 6>();
      tiles.template MultiplyFours<3, 5, 7>();
    }
  }
  tiles.template Store<0>(sums, kRegisterBytes);
  return sums[0][0];
}
#endif  // HWY_ARCH_X86_64

}  // namespace banyan::HWY_NAMESPACE
#if HWY_TARGET == HWY_AVX3_DL
HWY_POP_ATTRIBUTES
#else
HWY_AFTER_NAMESPACE();
#endif

#endif  // BANYAN_CORE_OPS_CPU_LINEAR_TILES_INL_H_
