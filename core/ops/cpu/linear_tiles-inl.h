// Linear in tile registers (tiles.h), whoever makes them.
//
// The order of sums with bfloat16 weights: columns in blocks of 32. A row of
// activations is split in two bfloat16 parts (SplitRow); a block's products
// with the high parts are added as MultiplyPairs says, then those with the low
// parts. A single row is multiplied in vectors, with the same sums, because
// vectors read memory faster than registers do.
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
#include <utility>

#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tile-inl.h"
#include "core/ops/cpu/tiles-inl.h"
#include "core/ops/cpu/tiles.h"
#include "core/ops/op_args.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {

#if HWY_ARCH_X86_64
// Adds one block of 32 columns to the registers of sums: those of sixteen rows
// and four panels, or of 32 rows and two. `right` is the first panel's block,
// the next panel's is `panel` bytes further.
template <int kRowTiles, int kPanels, class Tiles>
HWY_INLINE void AddPairBlock(Tiles& tiles, const SplitRows& x,
                             std::size_t column, const std::byte* right,
                             std::size_t panel) {
  static_assert(kRowTiles * kPanels <= kFirstLeft);
  const std::size_t at = x.Place(0, column);
  if constexpr (kRowTiles == 1) {
    tiles.template Load<4>(x.high + at, kRegisterBytes);
    tiles.template Load<5>(x.low + at, kRegisterBytes);
    [&]<int... kSums>(std::integer_sequence<int, kSums...>) {
      // Two registers in turn: the next is loaded while one is multiplied.
      const auto add = [&]<int kSum>() {
        constexpr int kRight = kFirstRight + kSum % 2;
        tiles.template Load<kRight>(right + kSum * panel, kRegisterBytes);
        tiles.template MultiplyPairs<kSum, 4, kRight>();
        tiles.template MultiplyPairs<kSum, 5, kRight>();
      };
      (add.template operator()<kSums>(), ...);
    }
    (std::make_integer_sequence<int, kPanels>());
  } else {
    tiles.template Load<6>(right, kRegisterBytes);
    if constexpr (kPanels == 2)
      tiles.template Load<7>(right + panel, kRegisterBytes);
    const std::size_t second = x.Place(kRegisterRows, column);
    for (const std::uint16_t* part : {x.high, x.low}) {
      tiles.template Load<4>(part + at, kRegisterBytes);
      tiles.template MultiplyPairs<0, 4, 6>();
      if constexpr (kPanels == 2) tiles.template MultiplyPairs<1, 4, 7>();
      tiles.template Load<5>(part + second, kRegisterBytes);
      tiles.template MultiplyPairs<kPanels, 5, 6>();
      if constexpr (kPanels == 2) tiles.template MultiplyPairs<3, 5, 7>();
    }
  }
}

// Sixteen rows times up to four panels, or 32 times up to two.
template <int kRowTiles, int kPanels, class Tiles>
HWY_NOINLINE void RunPairBlocks(Tiles& tiles, const PairWeights& w,
                                const SplitRows& x, std::size_t columns,
                                const Wanted& wanted, float* sums,
                                std::size_t sums_stride) {
  constexpr std::size_t kLines =
      kRegisterRows * kRegisterBytes / Wanted::kLine;  // of a block
  const auto* at = reinterpret_cast<const std::byte*>(w.at);
  const std::size_t panel = w.panel * sizeof(std::uint32_t);
  tiles.template Zero<0>();
  tiles.template Zero<1>();
  tiles.template Zero<2>();
  tiles.template Zero<3>();
  std::size_t column = 0;
  for (; column + kPairColumns <= columns; column += kPairColumns) {
    for (std::size_t line = 0; line < kLines; ++line)
      wanted.Ask(column / kPairColumns * kLines + line);
    AddPairBlock<kRowTiles, kPanels>(tiles, x, column, at + column * 2 * kLane,
                                     panel);
  }
  if (column < columns) {  // zeros follow a panel's last columns
    alignas(64) std::byte rest[kPanels][kRegisterRows * kRegisterBytes] = {};
    const std::size_t bytes = (columns - column + 1) / 2 * kRegisterBytes;
    for (std::size_t p = 0; p < kPanels; ++p)
      std::memcpy(rest[p], at + p * panel + column * 2 * kLane, bytes);
    AddPairBlock<kRowTiles, kPanels>(tiles, x, column, rest[0],
                                     sizeof(rest[0]));
  }
  const std::size_t stride = sums_stride * sizeof(float);
  const auto store = [&]<int kSum>() {
    if constexpr (kSum < kRowTiles * kPanels)
      tiles.template Store<kSum>(
          sums + kSum / kPanels * kRegisterRows * sums_stride +
              kSum % kPanels * kLane,
          stride);
  };
  store.template operator()<0>();
  store.template operator()<1>();
  store.template operator()<2>();
  store.template operator()<3>();
}

// The panels after `panel` and those that are multiplied with it; with
// `follows` further ones follow in memory after the last of `panels`.
inline Wanted NextPanels(const PairWeights& w, int panel, int together,
                         int panels, bool follows) {
  const int next = panel + together;
  if (next >= panels && !follows) return {};
  return {
      .at = w.Bytes(static_cast<std::size_t>(next), 0),
      .panel = w.panel * sizeof(std::uint32_t),
      .count = next < panels ? std::min(together, panels - next) : together};
}

// All `rows` by `panels`. Rows of x and of sums are read and written up to a
// multiple of sixteen. `follows`: as many panels follow in memory.
template <class Tiles>
void RunPairTiles(const PairWeights& w, const SplitRows& x, std::size_t columns,
                  int rows, int panels, bool follows, float* sums,
                  std::size_t sums_stride) {
  Tiles tiles(PairConfig(rows));
  // The more panels side by side, the faster memory is read.
  const int together = rows <= static_cast<int>(kRegisterRows) ? 4 : 2;
  for (int p = 0; p < panels; p += together)
    for (int r = 0; r < rows; r += 32) {
      const auto row = static_cast<std::size_t>(r);
      const auto panel = static_cast<std::size_t>(p);
      // Asked for while the first rows are multiplied.
      const Wanted wanted =
          r == 0 ? NextPanels(w, p, together, panels, follows) : Wanted();
      const auto run = [&]<int kRowTiles, int kPanels>() {
        RunPairBlocks<kRowTiles, kPanels>(
            tiles, w.Panel(panel), x.From(row), columns, wanted,
            sums + row * sums_stride + panel * kLane, sums_stride);
      };
      const bool two_rows = rows - r > 16;
      switch (std::min(panels - p, together)) {
        case 4:
          run.template operator()<1, 4>();
          break;
        case 3:
          run.template operator()<1, 3>();
          break;
        case 2:
          two_rows ? run.template operator()<2, 2>()
                   : run.template operator()<1, 2>();
          break;
        default:
          two_rows ? run.template operator()<2, 1>()
                   : run.template operator()<1, 1>();
      }
    }
}

// One row by `panels`, as RunPairTiles.
inline void RunPairRow(const PairWeights& w, const SplitRows& x,
                       std::size_t columns, int panels, float* sums) {
  constexpr int kTogether = kTilePanels;
  const WithoutSubnormals flushed;
  const FloatTag d;
  for (int p = 0; p < panels; p += kTogether) {
    const int count = std::min(panels - p, kTogether);
    const auto panel = static_cast<std::size_t>(p);
    Float sum[kTogether][kParts];
    for (auto& of_panel : sum)
      std::fill_n(of_panel, std::size_t{kParts}, hn::Zero(d));
    for (std::size_t column = 0; column < columns; column += kPairColumns) {
      const std::size_t pairs =
          (std::min(columns - column, kPairColumns) + 1) / 2;
      const std::size_t at = x.Place(0, column);
      // Of each panel the even sums of both parts, then the odd ones.
      Float block[kTogether][2][2][kParts];
      for (auto& of_panel : block)
        for (auto& of_part : of_panel)
          for (auto& of_parity : of_part)
            std::fill_n(of_parity, std::size_t{kParts}, hn::Zero(d));
      for (std::size_t k = 0; k < pairs; ++k) {
        std::uint32_t left[2];
        std::memcpy(&left[0], x.high + at + 2 * k, sizeof left[0]);
        std::memcpy(&left[1], x.low + at + 2 * k, sizeof left[1]);
        for (int i = 0; i < kTogether; ++i) {
          if (i == count) break;
          const Pairs right(
              w.Bytes(panel + static_cast<std::size_t>(i), column + 2 * k));
          for (int part = 0; part < 2; ++part)
            right.AddTo(left[part], block[i][part][0], block[i][part][1]);
        }
      }
      for (int i = 0; i < kTogether; ++i)
        for (int part = 0; part < 2; ++part)
          for (std::size_t v = 0; v < kParts; ++v)
            sum[i][v] = hn::Add(
                sum[i][v], hn::Add(block[i][part][0][v], block[i][part][1][v]));
    }
    for (int i = 0; i < count; ++i)
      for (std::size_t v = 0; v < kParts; ++v)
        hn::StoreU(
            sum[i][v], d,
            sums + (panel + static_cast<std::size_t>(i)) * kLane + v * kWidth);
  }
}

// For the gauge: `rounds` times four products of registers.
template <class Tiles>
HWY_NOINLINE std::int32_t MultiplyRegisters(std::size_t rounds) {
  Tiles tiles(PairConfig(kRegisterRows));
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
    tiles.template MultiplyPairs<0, 4, 6>();
    tiles.template MultiplyPairs<1, 4, 7>();
    tiles.template MultiplyPairs<2, 5, 6>();
    tiles.template MultiplyPairs<3, 5, 7>();
  }
  tiles.template Store<0>(sums, kRegisterBytes);
  return sums[0][0];
}
#endif  // HWY_ARCH_X86_64

}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BANYAN_CORE_OPS_CPU_LINEAR_TILES_INL_H_
