// Arithmetic that is the same, to the last bit, wherever it is compiled: fused
// where it says so and nowhere else.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_NUMBERS_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_NUMBERS_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/device/cuda/kernel.h"

namespace banyan::BANYAN_MAKER {

BANYAN_DEVICE bool IsFinite(float x) {
  return (std::bit_cast<std::uint32_t>(x) & 0x7f800000U) != 0x7f800000U;
}

BANYAN_DEVICE float FromBf16(std::uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}

// To the nearest, ties to even; NaN stays NaN.
BANYAN_DEVICE std::uint32_t ToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return (bits >> 16) | 0x40U;
  return (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
}

// exp(x), within 2 units of the last place; NaN of NaN.
//
// x = n ln 2 + r with |r| <= ln 2 / 2, and exp(r) by a polynomial. 2^n is
// multiplied in two steps, each of which is a float, so that results below the
// normal numbers are rounded once.
BANYAN_DEVICE float Exp(float x) {
  if (x > 89.0F) x = 89.0F;      // infinity, as above
  if (x < -104.0F) x = -104.0F;  // 0, as below
  const float n = rintf(x * 1.44269504F);
  const float r = fmaf(n, 1.90821493e-10F, fmaf(n, -0.693147182F, x));
  float p = 1.98412698e-4F;
  p = fmaf(p, r, 1.38888889e-3F);
  p = fmaf(p, r, 8.33333333e-3F);
  p = fmaf(p, r, 4.16666667e-2F);
  p = fmaf(p, r, 1.66666667e-1F);
  p = fmaf(p, r, 0.5F);
  p = fmaf(p, r, 1.0F);
  p = fmaf(p, r, 1.0F);
  if (!(n >= -200.0F)) return p;  // NaN
  const int exponent = static_cast<int>(n);
  const int half = exponent / 2;
  const auto power = [](int e) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23);
  };
  return p * power(half) * power(exponent - half);
}

// silu(x), or gelu(x) by tanh, for x / 2 (1 + tanh u) is x / (1 + exp(-2 u)).
BANYAN_DEVICE float Activated(bool gelu, float x) {
  const float u = gelu ? 1.59576912F * fmaf(0.044715F * x * x, x, x) : x;
  return x / (1.0F + Exp(-u));
}

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_NUMBERS_H_
