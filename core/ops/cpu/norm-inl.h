// The root mean square of a row, as op_args.h define it.
//
// The order of its sums: sixteen lanes, number i in lane i % 16, in the order
// of i; the lanes are then added in halves.
#if defined(BANYAN_CORE_OPS_CPU_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BANYAN_CORE_OPS_CPU_NORM_INL_H_
#undef BANYAN_CORE_OPS_CPU_NORM_INL_H_
#else
#define BANYAN_CORE_OPS_CPU_NORM_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <limits>

#include "core/ops/cpu/simd-inl.h"
#include "core/ops/op_args.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {

// The sum over x of (x - mean)^2, or of x alone where `plain`.
HWY_INLINE float SumLanes(const float* x, std::size_t size, float mean,
                          bool plain) {
  const FloatTag d;
  const Float center = hn::Set(d, mean);
  Float sums[kParts];
  for (Float& sum : sums) sum = hn::Zero(d);
  for (std::size_t i = 0; i < size; i += kLane) {
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::size_t at = i + part * kWidth;
      if (at >= size) break;
      Float value = LoadUpTo(x, at, size);
      if (plain) {
        sums[part] = hn::Add(sums[part], value);
        continue;
      }
      value = hn::Sub(value, center);
      // Past the end the sum stays as it is.
      if (at + kWidth > size)
        value = hn::IfThenElse(hn::FirstN(d, size - at), value, hn::Zero(d));
      sums[part] = Fma(value, value, sums[part]);
    }
  }
  alignas(64) float lanes[kLane];
  for (std::size_t part = 0; part < kParts; ++part)
    hn::Store(sums[part], d, lanes + part * kWidth);
  return AddLanes(lanes);
}

// 1 / sqrt(mean((x - mean)^2) + epsilon); NaN if the sum overflows, since 0
// would make a row of zeros of it.
HWY_INLINE float InverseRoot(const float* x, std::size_t size, float mean,
                             float epsilon) {
  const float squares =
      SumLanes(x, size, mean, false) / static_cast<float>(size);
  return std::isfinite(squares) ? 1.0F / std::sqrt(squares + epsilon)
                                : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BANYAN_CORE_OPS_CPU_NORM_INL_H_
