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

#include "core/base/weight_format.h"
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
HWY_INLINE Q4Bytes LoadQ4(const std::uint8_t* at, int step) {
  const __m512i both = _mm512_loadu_si512(at);
  return _mm512_and_si512(step == 0 ? both : _mm512_srli_epi16(both, 4),
                          _mm512_set1_epi8(15));
}
HWY_INLINE Q8Sum StartAllQ8(std::int32_t start) {
  return hn::Set(IntTag(), start);
}
HWY_INLINE Q8Sum AddQ4(Q8Sum sum, Q4Bytes w, std::int32_t x) {
  return AddQ8(sum, w, x);
}
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
using Q4Bytes = __m256i;
HWY_INLINE Q4Bytes LoadQ4(const std::uint8_t* at, int step) {
  const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  return _mm256_and_si256(step == 0 ? both : _mm256_srli_epi16(both, 4),
                          _mm256_set1_epi8(15));
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
HWY_INLINE Q4Bytes LoadQ4(const std::uint8_t* at, int step) {
  return {at, 4 * step};
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
        FloatTag(),
        hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(from) +
                              static_cast<std::size_t>(part) * kWidth));
  return lanes;
}

// What the kinds of four bits have in common.
struct Q4Panels {
  static constexpr std::size_t kBlockBytes = kLane * kQ8Block / 2;
  static constexpr std::size_t kHalves = kLane * sizeof(std::uint16_t);
  static constexpr int kPerLoad = 2;
  using Bytes = Q4Bytes;

  HWY_INLINE static Bytes Load(const std::uint8_t* at, int step) {
    return LoadQ4(at, step);
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
  struct Kept {};

  HWY_INLINE static Q8Sum Start(std::int32_t correction) {
    return StartAllQ8(correction >> 4);
  }
  HWY_INLINE Scales LoadScales(std::size_t of_panel, std::size_t block,
                               Kept& /*kept*/) const {
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
                                  std::int32_t correction, const Scales& scales,
                                  Float* sums) {
    AddScaled(ints, x_scale, scales.scale, sums);
    const Float x = hn::Set(
        FloatTag(), static_cast<float>(correction) * -0x1p-7F * x_scale);
#pragma GCC unroll 16
    for (int part = 0; part < kParts; ++part)
      sums[part] = Fma(x, scales.least.at[part], sums[part]);
  }
};

// kQ4Min.
struct Q4MinWeights : Q4LineWeights {
  struct Kept {};

  HWY_INLINE Scales LoadScales(std::size_t of_panel, std::size_t block,
                               Kept& /*kept*/) const {
    const std::uint8_t* from = ScalesOf(of_panel) + 2 * block * kHalves;
    return {LoadHalves(from), LoadHalves(from + kHalves)};
  }
};

// kQ4Super. A super-block's a and b are put together where it begins.
struct Q4SuperWeights : Q4LineWeights {
  static constexpr std::size_t kBlocks = kSuperBlock / kQ8Block;
  static constexpr std::size_t kNumbers = kBlocks * kLane;
  static constexpr std::size_t kLow = 2 * kHalves;
  static constexpr std::size_t kHigh = kLow + kNumbers;
  static constexpr std::size_t kSuper = kHigh + kNumbers / 2;

  struct Kept {
    bool any = false;
    Lanes scale, step;
    alignas(64) std::uint8_t a[kNumbers];
    alignas(64) std::uint8_t b[kNumbers];
  };

  HWY_INLINE static void Unpack(const std::uint8_t* from, Kept& kept) {
    const hn::CappedTag<std::uint8_t, kNumbers / 2> d;
    const auto four = hn::Set(d, 15);
    const auto two = hn::Set(d, 3);
    const auto put = [&](std::size_t at, auto low, auto high) HWY_ATTR {
      hn::Store(
          hn::Or(hn::And(low, four), hn::ShiftLeft<4>(hn::And(high, two))), d,
          kept.a + at);
      hn::Store(hn::Or(hn::ShiftRight<4>(low),
                       hn::ShiftLeft<4>(hn::And(hn::ShiftRight<2>(high), two))),
                d, kept.b + at);
    };
    for (std::size_t at = 0; at < kNumbers / 2; at += hn::Lanes(d)) {
      const auto high = hn::LoadU(d, from + kHigh + at);
      put(at, hn::LoadU(d, from + kLow + at), high);
      put(at + kNumbers / 2, hn::LoadU(d, from + kLow + kNumbers / 2 + at),
          hn::ShiftRight<4>(high));
    }
    kept.scale = LoadHalves(from);
    kept.step = LoadHalves(from + kHalves);
    kept.any = true;
  }

  // Sixteen whole numbers times sixteen floats.
  HWY_INLINE static Lanes Times(const std::uint8_t* whole,
                                const Lanes& floats) {
    const hn::Rebind<std::uint8_t, IntTag> bytes;
    Lanes out;
#pragma GCC unroll 16
    for (int part = 0; part < kParts; ++part)
      out.at[part] = hn::Mul(
          floats.at[part],
          hn::ConvertTo(
              FloatTag(),
              hn::PromoteTo(
                  IntTag(),
                  hn::LoadU(bytes,
                            whole + static_cast<std::size_t>(part) * kWidth))));
    return out;
  }

  HWY_INLINE Scales LoadScales(std::size_t of_panel, std::size_t block,
                               Kept& kept) const {
    const std::size_t in_super = block % kBlocks;
    if (in_super == 0 || !kept.any)
      Unpack(ScalesOf(of_panel) + block / kBlocks * kSuper, kept);
    Scales scales = {Times(kept.a + in_super * kLane, kept.scale),
                     Times(kept.b + in_super * kLane, kept.step)};
#pragma GCC unroll 16
    for (int part = 0; part < kParts; ++part)
      scales.least.at[part] = hn::Neg(scales.least.at[part]);
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
