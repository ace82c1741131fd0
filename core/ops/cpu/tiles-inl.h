// Products in tile registers (tiles.h): the registers made in vectors, and the
// loops over either maker that multiply activations by panels of a weight.
//
// The order of sums with bfloat16 weights: columns in blocks of 32. A row of
// activations is split in two bfloat16 parts (SplitRow); a block's products
// with the high parts are added as MultiplyPairs says, then those with the low
// parts. With 8-bit weights sums are those of tile_q8-inl.h, to the last bit.
#if defined(BANYAN_CORE_OPS_CPU_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BANYAN_CORE_OPS_CPU_TILES_INL_H_
#undef BANYAN_CORE_OPS_CPU_TILES_INL_H_
#else
#define BANYAN_CORE_OPS_CPU_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tile-inl.h"
#include "core/ops/cpu/tile_q8-inl.h"
#include "core/ops/cpu/tiles.h"
#include "core/ops/tensor.h"
#include "hwy/highway.h"

#if HWY_ARCH_X86_64
#include <xmmintrin.h>
#endif

#if HWY_TARGET == HWY_AVX3_DL
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR
                    ",avx512vnni")  // as tile_q8-inl.h, which is inlined
#else
HWY_BEFORE_NAMESPACE();
#endif
namespace banyan::HWY_NAMESPACE {

// The nearest bfloat16 as words, ties to even; the largest where that is
// infinite. Requires finite numbers.
HWY_INLINE hn::Vec<WordTag> NearestBf16(Float x) {
  const WordTag dw;
  const auto bits = hn::BitCast(dw, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(dw, 1));
  auto near =
      hn::ShiftRight<16>(hn::Add(bits, hn::Add(hn::Set(dw, 0x7fff), odd)));
  const auto infinite =
      hn::Eq(hn::And(near, hn::Set(dw, 0x7fff)), hn::Set(dw, 0x7f80));
  return hn::IfThenElse(infinite, hn::Sub(near, hn::Set(dw, 1)), near);
}

// x = high + low, within 2^-17 of x; what is not finite becomes NaN.
inline void SplitRow(const float* x, std::size_t size, std::size_t row,
                     const SplitRows& out) {
  const FloatTag d;
  const WordTag dw;
  const hn::Rebind<std::uint16_t, FloatTag> halves;
  std::uint16_t* const high = out.high + row * out.stride;
  std::uint16_t* const low = out.low + row * out.stride;
  const auto exponent = hn::Set(dw, 0x7f800000);
  for (std::size_t i = 0; i < out.stride; i += kWidth) {
    const Float value = i < size ? LoadUpTo(x, i, size) : hn::Zero(d);
    const auto odd =
        hn::Eq(hn::And(hn::BitCast(dw, value), exponent), exponent);
    const auto first =
        hn::IfThenElse(odd, hn::Set(dw, 0x7fc0), NearestBf16(value));
    const Float rest = hn::Sub(value, hn::BitCast(d, hn::ShiftLeft<16>(first)));
    const auto second = hn::IfThenElse(odd, hn::Zero(dw), NearestBf16(rest));
    hn::StoreU(hn::TruncateTo(halves, first), halves, high + i);
    hn::StoreU(hn::TruncateTo(halves, second), halves, low + i);
  }
}

#if HWY_ARCH_X86_64
// While it lives, this thread's vectors treat subnormal numbers as 0. What is
// computed then is read from and written to memory, which no compiler moves out
// of its life.
class WithoutSubnormals {
 public:
  WithoutSubnormals() : before_(_mm_getcsr()) { Set(before_ | 0x8040); }
  ~WithoutSubnormals() { Set(before_); }
  WithoutSubnormals(const WithoutSubnormals&) = delete;
  WithoutSubnormals& operator=(const WithoutSubnormals&) = delete;

 private:
  static void Set(unsigned csr) {
    asm volatile("ldmxcsr %0" ::"m"(csr) : "memory");
  }

  const unsigned before_;
};

// Tile registers in memory.
class MadeTiles {
 public:
  explicit MadeTiles(const TileConfig& config) : config_(config) {}

  template <int kTile>
  void Zero() {
    std::memset(tiles_[kTile], 0, sizeof(tiles_[kTile]));
  }
  template <int kTile>
  void Load(const void* from, std::size_t stride) {
    Zero<kTile>();
    const auto* at = static_cast<const std::byte*>(from);
    for (std::size_t row = 0; row < config_.rows[kTile]; ++row)
      std::memcpy(tiles_[kTile][row], at + row * stride, config_.bytes[kTile]);
  }
  template <int kTile>
  void Store(void* to, std::size_t stride) {
    auto* at = static_cast<std::byte*>(to);
    for (std::size_t row = 0; row < config_.rows[kTile]; ++row)
      std::memcpy(at + row * stride, tiles_[kTile][row], config_.bytes[kTile]);
  }
  template <int kSum, int kLeft, int kRight>
  void MultiplyPairs() {
    const WithoutSubnormals flushed;
    const FloatTag d;
    for (std::size_t m = 0; m < config_.rows[kSum]; ++m) {
      Float even[kParts];
      Float odd[kParts];
      for (int part = 0; part < kParts; ++part)
        even[part] = odd[part] = hn::Zero(d);
      for (std::size_t k = 0; k < config_.rows[kRight]; ++k)
        AddPair(Word(tiles_[kLeft][m], k), tiles_[kRight][k], even, odd);
      for (std::size_t part = 0; part < kParts; ++part) {
        auto* sum = reinterpret_cast<float*>(tiles_[kSum][m]) + part * kWidth;
        hn::StoreU(hn::Add(hn::LoadU(d, sum), hn::Add(even[part], odd[part])),
                   d, sum);
      }
    }
  }
  template <int kSum, int kLeft, int kRight>
  void MultiplyFours() {
    for (std::size_t m = 0; m < config_.rows[kSum]; ++m) {
      auto* sums = reinterpret_cast<std::int32_t*>(tiles_[kSum][m]);
      const auto* left = reinterpret_cast<const std::int8_t*>(tiles_[kLeft][m]);
      for (std::size_t k = 0; k < config_.rows[kRight]; ++k) {
        const auto* right =
            reinterpret_cast<const std::uint8_t*>(tiles_[kRight][k]);
        for (std::size_t n = 0; n < kRegisterBytes / 4; ++n)
          for (std::size_t i = 0; i < 4; ++i)
            sums[n] += int{left[4 * k + i]} * int{right[4 * n + i]};
      }
    }
  }

 private:
  static std::uint32_t Word(const std::byte* row, std::size_t k) {
    std::uint32_t word;
    std::memcpy(&word, row + 4 * k, sizeof word);
    return word;
  }
  static void AddPair(std::uint32_t left, const std::byte* right, Float* even,
                      Float* odd) {
    const FloatTag d;
    const WordTag dw;
    const auto high = hn::Set(dw, 0xffff0000U);
    const Float first = hn::BitCast(d, hn::Set(dw, left << 16));
    const Float second = hn::BitCast(d, hn::Set(dw, left & 0xffff0000U));
    for (std::size_t part = 0; part < kParts; ++part) {
      const auto pair = hn::LoadU(
          dw, reinterpret_cast<const std::uint32_t*>(right) + part * kWidth);
      even[part] =
          Fma(first, hn::BitCast(d, hn::ShiftLeft<16>(pair)), even[part]);
      odd[part] = Fma(second, hn::BitCast(d, hn::And(pair, high)), odd[part]);
    }
  }

  const TileConfig config_;
  alignas(
      64) std::byte tiles_[kTileRegisters][kRegisterRows][kRegisterBytes] = {};
};

inline TileConfig PairConfig() { return {{16, 64}, {16, 64}, {16, 64}}; }
inline TileConfig FourConfig() { return {{16, 64}, {16, 32}, {8, 64}}; }

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
  Tiles tiles(PairConfig());
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
  Tiles tiles(FourConfig());
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
  Tiles tiles(pairs ? PairConfig() : FourConfig());
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

#endif  // BANYAN_CORE_OPS_CPU_TILES_INL_H_
