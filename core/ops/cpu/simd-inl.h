// Sixteen virtual lanes on every instruction set. Included once per target
// (Highway's foreach_target.h), inside the files of kernels only.
//
// How the processor keeps backend.h's promise, and one promise more: all
// instruction sets agree. Every sum the kernels make has an order that the
// mathematics of one row fixes (stated where the kernel stands), products are
// fused, and only operations that IEEE 754 defines to the last bit are used.
#if defined(BANYAN_CORE_OPS_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BANYAN_CORE_OPS_CPU_SIMD_INL_H_
#undef BANYAN_CORE_OPS_CPU_SIMD_INL_H_
#else
#define BANYAN_CORE_OPS_CPU_SIMD_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/ops/op_args.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, kLane>;
using WordTag = hn::Rebind<std::uint32_t, FloatTag>;
using IntTag = hn::Rebind<std::int32_t, FloatTag>;
using Float = hn::Vec<FloatTag>;

inline constexpr std::size_t kWidth = hn::MaxLanes(FloatTag());
inline constexpr int kParts = kLane / static_cast<int>(kWidth);

// a * b + c, rounded once.
HWY_INLINE Float Fma(Float a, Float b, Float c) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  const FloatTag d;
  alignas(16) float x[kWidth];
  alignas(16) float y[kWidth];
  alignas(16) float z[kWidth];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (std::size_t i = 0; i < kWidth; ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(d, z);
#else
  return hn::MulAdd(a, b, c);
#endif
}

// Numbers [i, i + kWidth) of `x`, with zeros from number `size` on.
HWY_INLINE Float LoadUpTo(const float* x, std::size_t i, std::size_t size) {
  const FloatTag d;
  if (i + kWidth <= size) return hn::LoadU(d, x + i);
  alignas(64) float padded[kWidth] = {};
  for (std::size_t j = i; j < size; ++j) padded[j - i] = x[j];
  return hn::Load(d, padded);
}

// Stores the lanes of `value` that are below `size`.
HWY_INLINE void StoreUpTo(Float value, float* x, std::size_t i,
                          std::size_t size) {
  const FloatTag d;
  if (i + kWidth <= size) return hn::StoreU(value, d, x + i);
  alignas(64) float padded[kWidth];
  hn::Store(value, d, padded);
  for (std::size_t j = i; j < size; ++j) x[j] = padded[j - i];
}

// Sixteen lanes added in halves: 8, 4, 2, 1.
HWY_INLINE float AddLanes(const float* lanes) {
  float sum[kLane / 2];
  for (int i = 0; i < kLane / 2; ++i) sum[i] = lanes[i] + lanes[i + kLane / 2];
  for (int half = kLane / 4; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) sum[i] += sum[i + half];
  return sum[0];
}

// exp(x) for x <= 88, within 2 units in the last place; 0 below -87. Of NaN it
// may make a number: who calls it sees that NaN is not lost. x = n ln 2 + r
// with |r| <= ln 2 / 2, and exp(r) by its series up to r^7 / 7!, whose rest is
// below 6e-9.
HWY_INLINE Float Exp(Float x) {
  const FloatTag d;
  const auto small = hn::Lt(x, hn::Set(d, -87.0F));
  x = hn::Min(hn::Max(x, hn::Set(d, -87.0F)), hn::Set(d, 88.0F));
  // Adding 1.5 * 2^23 rounds to the nearest whole number.
  const Float magic = hn::Set(d, 12582912.0F);
  const Float rounded = Fma(x, hn::Set(d, 1.44269504F), magic);
  const Float n = hn::Sub(rounded, magic);
  Float r = Fma(n, hn::Set(d, -0.693359375F), x);  // ln 2 in two parts
  r = Fma(n, hn::Set(d, 2.12194440e-4F), r);
  Float sum = hn::Set(d, 1.0F / 5040);
  sum = Fma(sum, r, hn::Set(d, 1.0F / 720));
  sum = Fma(sum, r, hn::Set(d, 1.0F / 120));
  sum = Fma(sum, r, hn::Set(d, 1.0F / 24));
  sum = Fma(sum, r, hn::Set(d, 1.0F / 6));
  sum = Fma(sum, r, hn::Set(d, 0.5F));
  sum = Fma(sum, r, hn::Set(d, 1.0F));
  sum = Fma(sum, r, hn::Set(d, 1.0F));
  // The last bits of `rounded` are those of n as a whole number.
  const IntTag di;
  const auto power =
      hn::ShiftLeft<23>(hn::Add(hn::BitCast(di, rounded), hn::Set(di, 127)));
  const Float result = hn::Mul(sum, hn::BitCast(d, power));
  return hn::IfThenElse(small, hn::Zero(d), result);
}

}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BANYAN_CORE_OPS_CPU_SIMD_INL_H_
