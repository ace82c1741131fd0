// Weights of four bits for the tile of eight-bit ones (tile_q8-inl.h): a load
// has two steps of four columns, in the halves of its bytes.
#if defined(BANYAN_CORE_OPS_CPU_TILE_Q4_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BANYAN_CORE_OPS_CPU_TILE_Q4_INL_H_
#undef BANYAN_CORE_OPS_CPU_TILE_Q4_INL_H_
#else
#define BANYAN_CORE_OPS_CPU_TILE_Q4_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tile_q8-inl.h"
#include "core/ops/op_args.h"
#include "hwy/highway.h"

#if HWY_TARGET == HWY_AVX3_DL
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
#else
HWY_BEFORE_NAMESPACE();
#endif
namespace banyan::HWY_NAMESPACE {

// Whole numbers from 0 to 15 of a step, and their products with one row of
// activations.
#if HWY_TARGET == HWY_AVX3_DL
using Q4Bytes = Q8Bytes;
HWY_INLINE void LoadQ4(const std::uint8_t* at, Q4Bytes* bytes) {
  const __m512i low = _mm512_set1_epi8(15);
  const __m512i both = _mm512_loadu_si512(at);
  bytes[0] = _mm512_and_si512(both, low);
  bytes[1] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
}
HWY_INLINE Q8Sum StartAllQ8(std::int32_t start) {
  return hn::Set(IntTag(), start);
}
HWY_INLINE Q8Sum AddQ4(Q8Sum sum, Q4Bytes w, std::int32_t x) {
  return AddQ8(sum, w, x);
}
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
using Q4Bytes = __m256i;
HWY_INLINE void LoadQ4(const std::uint8_t* at, Q4Bytes* bytes) {
  const __m256i low = _mm256_set1_epi8(15);
  const __m256i both =
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  bytes[0] = _mm256_and_si256(both, low);
  bytes[1] = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
}
HWY_INLINE Q8Sum StartAllQ8(std::int32_t start) {
  return hn::Set(Q8Tag(), start);
}
HWY_INLINE Q8Sum AddQ4(Q8Sum sum, Q4Bytes w, std::int32_t x) {
  const __m256i pairs = _mm256_maddubs_epi16(w, _mm256_set1_epi32(x));
  return Q8Sum{_mm256_add_epi32(
      sum.raw, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
}
#else
struct Q4Bytes {
  const std::uint8_t* at;
  int shift;
};
HWY_INLINE void LoadQ4(const std::uint8_t* at, Q4Bytes* bytes) {
  bytes[0] = {at, 0};
  bytes[1] = {at, 4};
}
HWY_INLINE Q8Sum StartAllQ8(std::int32_t start) { return StartQ8(start); }
HWY_INLINE Q8Sum AddQ4(Q8Sum sum, Q4Bytes w, std::int32_t x) {
  std::int8_t bytes[4];
  std::memcpy(bytes, &x, sizeof(bytes));
  for (int lane = 0; lane < kLane; ++lane)
    for (int i = 0; i < 4; ++i)
      sum.lanes[lane] += (w.at[lane * 4 + i] >> w.shift & 15) * bytes[i];
  return sum;
}
#endif

// Sixteen halves.
HWY_INLINE Lanes LoadHalves(const std::uint8_t* from) {
  const hn::Rebind<hwy::float16_t, FloatTag> halves;
  Lanes lanes;
#pragma GCC unroll 16
  for (int part = 0; part < kParts; ++part)
    lanes.at[part] = hn::PromoteTo(
        FloatTag(), hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(
                                          from) +
                                          static_cast<std::size_t>(part) *
                                              kWidth));
  return lanes;
}

// What the kinds of four bits have in common.
struct Q4Panels {
  static constexpr std::size_t kBlockBytes = kLane * kQ8Block / 2;
  static constexpr std::size_t kHalves = kLane * sizeof(std::uint16_t);
  static constexpr int kPerLoad = 2;
  using Bytes = Q4Bytes;

  HWY_INLINE static void Load(const std::uint8_t* at, Bytes* bytes) {
    LoadQ4(at, bytes);
  }
  HWY_INLINE static Q8Sum Add(Q8Sum sum, Bytes w, std::int32_t x) {
    return AddQ4(sum, w, x);
  }
  HWY_INLINE const std::uint8_t* ScalesOf(std::size_t of_panel) const {
    return at + of_panel * panel + scales_offset;
  }

  const std::uint8_t* at;
  std::size_t panel;          // bytes
  std::size_t scales_offset;  // bytes
};

// kQ4: q - 8 is multiplied, by starting at -8 times the sum of the activations.
struct Q4Weights : Q4Panels {
  using Scales = Lanes;

  HWY_INLINE static Q8Sum Start(std::int32_t correction) {
    return StartAllQ8(correction / 16);
  }
  HWY_INLINE Scales LoadScales(std::size_t of_panel, std::size_t block) const {
    return LoadHalves(ScalesOf(of_panel) + block * kHalves);
  }
  HWY_INLINE static void AddBlock(const Q8Sum* ints, float x_scale,
                                  std::int32_t /*correction*/,
                                  const Scales& scales, Float* sums) {
    AddScaled(ints, x_scale, scales, sums);
  }
};

// A scale, and what q = 0 stands for.
struct LineLanes {
  Lanes scale;
  Lanes least;
};

struct Q4LineWeights : Q4Panels {
  using Scales = LineLanes;

  HWY_INLINE static Q8Sum Start(std::int32_t /*correction*/) {
    return StartAllQ8(0);
  }
  // A block's least value is multiplied with the sum of its activations.
  HWY_INLINE static void AddBlock(const Q8Sum* ints, float x_scale,
                                  std::int32_t correction,
                                  const Scales& scales, Float* sums) {
    AddScaled(ints, x_scale, scales.scale, sums);
    const Float x = hn::Set(
        FloatTag(), static_cast<float>(correction / -128) * x_scale);
#pragma GCC unroll 16
    for (int part = 0; part < kParts; ++part)
      sums[part] = Fma(x, scales.least.at[part], sums[part]);
  }
};

// kQ4Min.
struct Q4MinWeights : Q4LineWeights {
  HWY_INLINE Scales LoadScales(std::size_t of_panel, std::size_t block) const {
    const std::uint8_t* from = ScalesOf(of_panel) + 2 * block * kHalves;
    return {LoadHalves(from), LoadHalves(from + kHalves)};
  }
};

// kQ4Super.
struct Q4SuperWeights : Q4LineWeights {
  static constexpr std::size_t kBlocks = kSuperBlock / kQ8Block;
  static constexpr std::size_t kLow = 2 * kHalves;
  static constexpr std::size_t kHigh = kLow + kBlocks * kLane;
  static constexpr std::size_t kSuper = kHigh + kBlocks / 2 * kLane;

  HWY_INLINE Scales LoadScales(std::size_t of_panel, std::size_t block) const {
    const std::size_t in_super = block % kBlocks;
    const std::uint8_t* from = ScalesOf(of_panel) + block / kBlocks * kSuper;
    const std::uint8_t* low = from + kLow + in_super * kLane;
    const std::uint8_t* high = from + kHigh + in_super / 2 * kLane;
    const int shift = static_cast<int>(in_super % 2) * 4;
    const auto four = hn::Set(WordTag(), 15U);
    const auto two = hn::Set(WordTag(), 3U);
    const hn::Rebind<std::uint8_t, WordTag> bytes;
    Scales scales = {LoadHalves(from), LoadHalves(from + kHalves)};
#pragma GCC unroll 16
    for (int part = 0; part < kParts; ++part) {
      const std::size_t at_part = static_cast<std::size_t>(part) * kWidth;
      const auto lows =
          hn::PromoteTo(WordTag(), hn::LoadU(bytes, low + at_part));
      const auto highs = hn::ShiftRightSame(
          hn::PromoteTo(WordTag(), hn::LoadU(bytes, high + at_part)), shift);
      const auto a = hn::Or(hn::And(lows, four),
                            hn::ShiftLeft<4>(hn::And(highs, two)));
      const auto b =
          hn::Or(hn::ShiftRight<4>(lows),
                 hn::ShiftLeft<4>(hn::And(hn::ShiftRight<2>(highs), two)));
      const auto number = [](hn::Vec<WordTag> whole) HWY_ATTR {
        return hn::ConvertTo(FloatTag(), hn::BitCast(IntTag(), whole));
      };
      scales.scale.at[part] = hn::Mul(scales.scale.at[part], number(a));
      scales.least.at[part] =
          hn::Neg(hn::Mul(scales.least.at[part], number(b)));
    }
    return scales;
  }
};

}  // namespace banyan::HWY_NAMESPACE
#if HWY_TARGET == HWY_AVX3_DL
HWY_POP_ATTRIBUTES
#else
HWY_AFTER_NAMESPACE();
#endif

#endif  // BANYAN_CORE_OPS_CPU_TILE_Q4_INL_H_
