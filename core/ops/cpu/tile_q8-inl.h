// The tile of weights of eight bits, and of four (tile_q4-inl.h): whole-number
// sums of one block, exact whatever the instruction, then a fused multiply-add
// or two a block.
#if defined(BANYAN_CORE_OPS_CPU_TILE_Q8_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BANYAN_CORE_OPS_CPU_TILE_Q8_INL_H_
#undef BANYAN_CORE_OPS_CPU_TILE_Q8_INL_H_
#else
#define BANYAN_CORE_OPS_CPU_TILE_Q8_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/weight_format.h"
#include "core/ops/cpu/pieces.h"
#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tile-inl.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "hwy/highway.h"

#if HWY_TARGET == HWY_AVX3_DL
// Every processor Highway takes for AVX3_DL has VNNI; it only does not say so
// to the compiler.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
#else
HWY_BEFORE_NAMESPACE();
#endif
namespace banyan::HWY_NAMESPACE {

// Rows of activations as 8-bit blocks.
struct Q8Rows {
  Q8Rows From(std::size_t row) const {
    return {quants + row * blocks * kQ8Block, scales + row * blocks,
            corrections + row * blocks, blocks};
  }

  const std::int8_t* quants;        // [row][block][32]
  const float* scales;              // [row][block]
  const std::int32_t* corrections;  // [row][block]: -128 * sum of the quants
  std::size_t blocks;
};

// Whole-number sums of 16 rows of the weight with one row of activations. The
// accumulator starts at Start(): VNNI multiplies the stored bytes q + 128, so
// it starts at -128 times the sum of the activations.
#if HWY_TARGET == HWY_AVX3_DL
inline constexpr int kQ8Parts = 1;
using Q8Sum = hn::Vec<IntTag>;
using Q8Bytes = __m512i;
HWY_INLINE Q8Bytes LoadQ8(const std::uint8_t* at) {
  return _mm512_loadu_si512(at);
}
HWY_INLINE Q8Sum StartQ8(std::int32_t correction) {
  return hn::Set(IntTag(), correction);
}
// With the intrinsic, GCC 12 sends every weight through the stack.
HWY_INLINE Q8Sum AddQ8(Q8Sum sum, Q8Bytes w, std::int32_t x) {
  asm("vpdpbusd %2, %1, %0"
      : "+v"(sum.raw)
      : "v"(w), "v"(_mm512_set1_epi32(x)));
  return sum;
}
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// |w| times x with the sign of w: two products of at most 127 * 127 fit 16
// bits.
inline constexpr int kQ8Parts = 2;
using Q8Tag = hn::CappedTag<std::int32_t, 8>;
using Q8Sum = hn::Vec<Q8Tag>;
struct Q8Bytes {
  __m256i bytes;
  __m256i magnitudes;
};
HWY_INLINE Q8Bytes LoadQ8(const std::uint8_t* at) {
  const __m256i bytes =
      _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)),
                       _mm256_set1_epi8(static_cast<char>(-128)));
  return {bytes, _mm256_abs_epi8(bytes)};
}
HWY_INLINE Q8Sum StartQ8(std::int32_t /*correction*/) {
  return hn::Zero(Q8Tag());
}
HWY_INLINE Q8Sum AddQ8(Q8Sum sum, Q8Bytes w, std::int32_t x) {
  const __m256i pairs = _mm256_maddubs_epi16(
      w.magnitudes, _mm256_sign_epi8(_mm256_set1_epi32(x), w.bytes));
  return Q8Sum{_mm256_add_epi32(
      sum.raw, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
}
#else
inline constexpr int kQ8Parts = 1;
struct Q8Sum {
  std::int32_t lanes[kLane];
};
struct Q8Bytes {
  const std::uint8_t* at;
};
HWY_INLINE Q8Bytes LoadQ8(const std::uint8_t* at) { return {at}; }
HWY_INLINE Q8Sum StartQ8(std::int32_t correction) {
  Q8Sum sum;
  for (std::int32_t& lane : sum.lanes) lane = correction;
  return sum;
}
HWY_INLINE Q8Sum AddQ8(Q8Sum sum, Q8Bytes w, std::int32_t x) {
  std::int8_t bytes[4];
  std::memcpy(bytes, &x, sizeof(bytes));
  for (int lane = 0; lane < kLane; ++lane)
    for (int i = 0; i < 4; ++i)
      sum.lanes[lane] += int{w.at[lane * 4 + i]} * bytes[i];
  return sum;
}
#endif

// Sixteen sums as floats, kParts vectors.
HWY_INLINE void ToFloats(const Q8Sum* sum, Float* out) {
#if HWY_TARGET == HWY_AVX3
  const hn::CappedTag<float, 8> half;
  out[0] = hn::Combine(FloatTag(), hn::ConvertTo(half, sum[1]),
                       hn::ConvertTo(half, sum[0]));
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3_DL
  for (int part = 0; part < kParts; ++part)
    out[part] = hn::ConvertTo(FloatTag(), sum[part]);
#else
  alignas(64) float lanes[kLane];
  for (int lane = 0; lane < kLane; ++lane)
    lanes[lane] = static_cast<float>(sum->lanes[lane]);
  for (int part = 0; part < kParts; ++part)
    out[part] =
        hn::Load(FloatTag(), lanes + static_cast<std::size_t>(part) * kWidth);
#endif
}

// Sixteen numbers, kParts vectors, and adding one block's sums to those of a
// row and panel: (sum as float, times the scale of the activations) times the
// weight's scale.
struct Lanes {
  Float at[kParts];
};

HWY_INLINE void AddScaled(const Q8Sum* ints, float x_scale, const Lanes& scales,
                          Float* sums) {
  Float whole[kParts];
  ToFloats(ints, whole);
  const Float scale = hn::Set(FloatTag(), x_scale);
#pragma GCC unroll 16
  for (int part = 0; part < kParts; ++part)
    sums[part] = Fma(hn::Mul(whole[part], scale), scales.at[part], sums[part]);
}

// A kind of weights, of which panels stand one after the other: how a load of
// its bytes is multiplied with steps of four columns, and what a block's sum is
// then worth.
struct Q8Weights {
  static constexpr std::size_t kBlockBytes = kLane * kQ8Block;
  static constexpr int kPerLoad = 1;  // steps
  using Bytes = Q8Bytes;
  using Scales = Lanes;
  struct Kept {};  // of a panel, from block to block

  HWY_INLINE static Bytes Load(const std::uint8_t* at, int /*step*/) {
    return LoadQ8(at);
  }
  HWY_INLINE static Q8Sum Start(std::int32_t correction) {
    return StartQ8(correction);
  }
  HWY_INLINE static Q8Sum Add(Q8Sum sum, Bytes w, std::int32_t x) {
    return AddQ8(sum, w, x);
  }
  HWY_INLINE Scales LoadScales(std::size_t of_panel, std::size_t block,
                               Kept& /*kept*/) const {
    const auto* from = reinterpret_cast<const std::uint16_t*>(
                           at + of_panel * panel + scales_offset) +
                       block * kLane;
    Scales scales;
#pragma GCC unroll 16
    for (int part = 0; part < kParts; ++part) {
      const auto words = hn::PromoteTo(
          WordTag(), hn::LoadU(hn::Rebind<std::uint16_t, WordTag>(),
                               from + static_cast<std::size_t>(part) * kWidth));
      scales.at[part] = hn::BitCast(FloatTag(), hn::ShiftLeft<16>(words));
    }
    return scales;
  }
  HWY_INLINE static void AddBlock(const Q8Sum* ints, float x_scale,
                                  std::int32_t /*correction*/,
                                  const Scales& scales, Float* sums) {
    AddScaled(ints, x_scale, scales, sums);
  }

  const std::uint8_t* at;
  std::size_t panel;          // bytes
  std::size_t scales_offset;  // bytes
};

// Four neighbours of a row of activations.
HWY_INLINE std::int32_t Four(const Q8Rows& x, std::size_t row,
                             std::size_t block, std::size_t step) {
  std::int32_t four;
  std::memcpy(&four, x.quants + (row * x.blocks + block) * kQ8Block + step * 4,
              sizeof(four));
  return four;
}

// Panels and rows, and where their sums go: row r, panel p at
// sums + r * sums_stride + p * 16.
template <class Weights>
struct Q8TileArgs {
  Weights weights;
  Q8Rows x;
  float* sums;
  std::size_t sums_stride;
};

// With many registers, the float sums of three rows stay there between blocks.
inline constexpr bool kKeepQ8Sums = HWY_TARGET == HWY_AVX3_DL;
inline constexpr int kQ8Unroll = kKeepQ8Sums ? 8 : 1;  // steps of a block

// Adds blocks [first, end) to the sums of `kRows` rows from row `first_row` on
// and `kPanels` panels.
template <int kRows, int kPanels, class Weights>
HWY_INLINE void AddQ8Blocks(const Q8TileArgs<Weights>& args,
                            std::size_t first_row, std::size_t first,
                            std::size_t end) {
  constexpr std::size_t kLoad = kLane * 4;  // bytes
  constexpr int kPerLoad = Weights::kPerLoad;
  // Copies, which no store of a sum can change.
  const Weights w = args.weights;
  const Q8Rows x = args.x.From(first_row);
  const std::size_t sums_stride = args.sums_stride;
  float* const at_sums = args.sums + first_row * sums_stride;
  const FloatTag d;
  Float sums[kRows][kPanels * kParts];
  const auto for_sums = [&](int panel, int panels, const auto& use) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int v = panel * kParts; v < (panel + panels) * kParts; ++v)
        use(sums[r][v], at_sums + static_cast<std::size_t>(r) * sums_stride +
                            static_cast<std::size_t>(v) * kWidth);
  };
  const auto get = [&](Float& sum, float* from) { sum = hn::LoadU(d, from); };
  const auto put = [&](Float sum, float* to) { hn::StoreU(sum, d, to); };
  constexpr bool kKeep = kKeepQ8Sums && kRows == 3;
  typename Weights::Kept kept[kPanels];
  if (kKeep) for_sums(0, kPanels, get);
  for (std::size_t block = first; block < end; ++block) {
    Q8Sum ints[kRows][kPanels * kQ8Parts];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kPanels * kQ8Parts; ++v)
        ints[r][v] = Weights::Start(
            x.corrections[static_cast<std::size_t>(r) * x.blocks + block]);
    const std::uint8_t* at = w.at + block * Weights::kBlockBytes;
#pragma GCC unroll kQ8Unroll
    for (std::size_t load = 0; load < Weights::kBlockBytes / kLoad; ++load) {
#pragma GCC unroll 2
      for (int i = 0; i < kPerLoad; ++i)
#pragma GCC unroll 4
        for (int p = 0; p < kPanels; ++p)
#pragma GCC unroll 2
          for (int part = 0; part < kQ8Parts; ++part) {
            const auto bytes = Weights::Load(
                at + static_cast<std::size_t>(p) * w.panel + load * kLoad +
                    static_cast<std::size_t>(part) * (kLoad / 2),
                i);
#pragma GCC unroll 8
            for (int r = 0; r < kRows; ++r) {
              Q8Sum& sum = ints[r][p * kQ8Parts + part];
              sum = Weights::Add(
                  sum, bytes,
                  Four(x, static_cast<std::size_t>(r), block,
                       load * kPerLoad + static_cast<std::size_t>(i)));
            }
          }
    }
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const auto panel = static_cast<std::size_t>(p);
      const typename Weights::Scales scales =
          w.LoadScales(panel, block, kept[p]);
      if (!kKeep) for_sums(p, 1, get);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const auto row = static_cast<std::size_t>(r);
        Weights::AddBlock(&ints[r][p * kQ8Parts],
                          x.scales[row * x.blocks + block],
                          x.corrections[row * x.blocks + block], scales,
                          &sums[r][p * kParts]);
      }
      if (!kKeep) for_sums(p, 1, put);
    }
  }
  if (kKeep) for_sums(0, kPanels, put);
}

// Most rows at once: in a single tile, and where several tiles take turns.
inline constexpr int kQ8TileRows = 4;
inline constexpr int kQ8TurnRows = kKeepQ8Sums ? 3 : kQ8TileRows;

// The most panels that `rows` rows take at once.
constexpr int Q8PanelsFor(int rows) {
#if HWY_TARGET == HWY_AVX3_DL
  return rows > 0 ? kTilePanels : 0;
#else
  return rows <= 2 ? 2 : 1;
#endif
}

// All blocks of all rows, which `tiles` cuts into `kRows` rows or one fewer.
// Tiles take turns every few blocks; each prefetches its share of the next
// turn's. Turns of a few blocks keep the memory busier than long ones.
template <int kRows, int kPanels, class Weights>
HWY_NOINLINE void RunQ8Panels(const Q8TileArgs<Weights>& args,
                              const Pieces& tiles) {
  constexpr std::size_t kBlockBytes = Weights::kBlockBytes;
  const Weights& w = args.weights;
  for (int r = 0; r < tiles.size; ++r)
    std::memset(args.sums + static_cast<std::size_t>(r) * args.sums_stride, 0,
                kPanels * kLane * sizeof(float));
  const std::size_t blocks = args.x.blocks;
  // The processor's own prefetching is enough for few operations a line.
  if (tiles.count == 1 && (kRows == 1 || kKeepQ8Sums))
    return AddQ8Blocks<kRows, kPanels>(args, 0, 0, blocks);
  const auto count = static_cast<std::size_t>(tiles.count);
  const std::size_t turn = std::max<std::size_t>(4, count);
  const std::size_t lines = turn * kBlockBytes / Wanted::kLine;
  for (std::size_t first = 0; first < blocks; first += turn) {
    const std::size_t end = std::min(first + turn, blocks);
    // After a panel's last block the next panels are wanted.
    const std::uint8_t* next =
        w.at + (end < blocks ? end * kBlockBytes : kPanels * w.panel);
    const Wanted wanted = {reinterpret_cast<const std::byte*>(next), w.panel,
                           kPanels};
    for (std::size_t t = 0; t < count; ++t) {
      for (std::size_t line = lines * t / count; line < lines * (t + 1) / count;
           ++line)
        wanted.Ask(line);
      const int row = tiles.first(static_cast<int>(t));
      const auto at = static_cast<std::size_t>(row);
      if (tiles.first(static_cast<int>(t) + 1) - row == kRows)
        AddQ8Blocks<kRows, kPanels>(args, at, first, end);
      else
        AddQ8Blocks<std::max(kRows - 1, 1), kPanels>(args, at, first, end);
    }
  }
}

template <int kRows, class Weights>
HWY_INLINE void RunQ8Rows(int panels, const Q8TileArgs<Weights>& args,
                          const Pieces& tiles) {
  constexpr int kMost = Q8PanelsFor(kRows);
  if constexpr (kMost >= 4)
    if (panels == 4) return RunQ8Panels<kRows, 4>(args, tiles);
  if constexpr (kMost >= 3)
    if (panels == 3) return RunQ8Panels<kRows, 3>(args, tiles);
  if constexpr (kMost >= 2)
    if (panels == 2) return RunQ8Panels<kRows, 2>(args, tiles);
  RunQ8Panels<kRows, 1>(args, tiles);
}

// All `rows` by `panels`, all blocks.
template <class Weights>
HWY_NOINLINE void RunQ8Tiles(const Weights& w, int rows, int panels,
                             const Q8Rows& x, float* sums,
                             std::size_t sums_stride) {
  const Pieces tiles =
      Pieces::OfAtMost(rows <= kQ8TileRows ? kQ8TileRows : kQ8TurnRows, rows);
  const Pieces groups = Pieces::OfAtMost(Q8PanelsFor(tiles.largest()), panels);
  for (int g = 0; g < groups.count; ++g) {
    const auto first = static_cast<std::size_t>(groups.first(g));
    const int count = groups.first(g + 1) - groups.first(g);
    Q8TileArgs<Weights> args = {w, x, sums + first * kLane, sums_stride};
    args.weights.at += first * w.panel;
    switch (tiles.largest()) {
      case 1:
        RunQ8Rows<1>(count, args, tiles);
        break;
      case 2:
        RunQ8Rows<2>(count, args, tiles);
        break;
      case 3:
        RunQ8Rows<3>(count, args, tiles);
        break;
      default:
        RunQ8Rows<4>(count, args, tiles);
    }
  }
}

// For the gauge: `rounds` times twelve steps of sums, from registers.
inline HWY_NOINLINE std::int32_t MultiplyBytes(std::size_t rounds) {
  constexpr int kSumsAtOnce = 12;
  alignas(64) std::uint8_t weights[kLane * 4];
  std::memset(weights, 3, sizeof(weights));
  const Q8Bytes bytes = LoadQ8(weights);
  Q8Sum sums[kSumsAtOnce];
  for (Q8Sum& sum : sums) sum = StartQ8(0);
  for (std::size_t i = 0; i < rounds * kQ8Parts; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kSumsAtOnce; ++j)
      sums[j] = AddQ8(sums[j], bytes, 0x01010101);
  }
  std::int32_t odd = 0;
  for (const Q8Sum& sum : sums) {
    std::int32_t lane = 0;
    std::memcpy(&lane, &sum, sizeof(lane));
    odd |= lane & 1;
  }
  return odd;
}

}  // namespace banyan::HWY_NAMESPACE
#if HWY_TARGET == HWY_AVX3_DL
HWY_POP_ATTRIBUTES
#else
HWY_AFTER_NAMESPACE();
#endif

#endif  // BANYAN_CORE_OPS_CPU_TILE_Q8_INL_H_
