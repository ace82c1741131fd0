#include <cstddef>

#include "absl/status/status.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/cpu/elementwise.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which Highway wants.
#include "core/ops/cpu/norm-inl.h"
#include "core/ops/cpu/simd-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {
namespace {

// 1 / (1 + exp(-x)), by the side on which exp does not overflow.
HWY_INLINE Float Sigmoid(Float x) {
  const FloatTag d;
  const Float one = hn::Set(d, 1.0F);
  const Float e = Exp(hn::Neg(hn::Abs(x)));
  const Float low = hn::Div(e, hn::Add(one, e));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), low,
                        hn::Div(one, hn::Add(one, e)));
}

HWY_INLINE Float Apply(Nonlinearity function, Float x) {
  const FloatTag d;
  if (function == Nonlinearity::kSilu) return hn::Mul(x, Sigmoid(x));
  // (1 + tanh(u)) / 2 is the sigmoid of 2u.
  const Float cubed = hn::Mul(hn::Mul(x, x), x);
  const Float u = Fma(cubed, hn::Set(d, 0.044715F), x);
  return hn::Mul(x, Sigmoid(hn::Mul(u, hn::Set(d, 1.5957691216F))));
}

// Rows [first, end).
void ActivateRows(const ActivateArgs& args, int first, int end) {
  const auto size = static_cast<std::size_t>(args.x.columns);
  for (int row = first; row < end; ++row) {
    const float* x = host::Row(args.x, row);
    float* y = host::Row(args.y, row);
    const float* up = args.up.empty() ? nullptr : host::Row(args.up, row);
    for (std::size_t i = 0; i < size; i += kWidth) {
      Float value = Apply(args.function, LoadUpTo(x, i, size));
      if (up != nullptr) value = hn::Mul(value, LoadUpTo(up, i, size));
      if (args.add) value = hn::Add(LoadUpTo(y, i, size), value);
      StoreUpTo(value, y, i, size);
    }
  }
}

}  // namespace

namespace {

// Rows [first, end).
void NormRows(const NormArgs& args, int first, int end) {
  const FloatTag d;
  const auto size = static_cast<std::size_t>(args.x.columns);
  const float* weight = host::Row(args.weight, 0);
  const float* bias = args.bias.empty() ? nullptr : host::Row(args.bias, 0);
  for (int row = first; row < end; ++row) {
    const float* x = host::Row(args.x, row);
    float* y = host::Row(args.y, row);
    const float mean =
        args.center ? SumLanes(x, size, 0, true) / static_cast<float>(size)
                    : 0.0F;
    const Float center = hn::Set(d, mean);
    const Float scale = hn::Set(d, InverseRoot(x, size, mean, args.epsilon));
    for (std::size_t i = 0; i < size; i += kWidth) {
      Float value = hn::Mul(hn::Sub(LoadUpTo(x, i, size), center), scale);
      value = hn::Mul(value, LoadUpTo(weight, i, size));
      if (bias != nullptr) value = hn::Add(value, LoadUpTo(bias, i, size));
      StoreUpTo(value, y, i, size);
    }
  }
}

}  // namespace

namespace {

void NormHead(float* x, const float* weight, std::size_t size, float epsilon) {
  const FloatTag d;
  const Float scale = hn::Set(d, InverseRoot(x, size, 0, epsilon));
  for (std::size_t i = 0; i < size; i += kWidth)
    StoreUpTo(hn::Mul(hn::Mul(LoadUpTo(x, i, size), scale),
                      LoadUpTo(weight, i, size)),
              x, i, size);
}

void RotateHead(float* x, const float* angles, std::size_t half) {
  for (std::size_t i = 0; i < half; i += kWidth) {
    const Float a = LoadUpTo(x, i, half);
    const Float b = LoadUpTo(x + half, i, half);
    const Float cosine = LoadUpTo(angles, i, half);
    const Float sine = LoadUpTo(angles + half, i, half);
    const Float turned_a = hn::Sub(hn::Mul(a, cosine), hn::Mul(b, sine));
    const Float turned_b = hn::Add(hn::Mul(b, cosine), hn::Mul(a, sine));
    StoreUpTo(turned_a, x, i, half);
    StoreUpTo(turned_b, x + half, i, half);
  }
}

// Rows [first, end).
void RotateRows(const RotateArgs& args, int first, int end) {
  const FloatTag d;
  const auto size = static_cast<std::size_t>(args.head_dim);
  const auto columns = static_cast<std::size_t>(args.x.columns);
  const Float scale = hn::Set(d, args.scale);
  for (int row = first; row < end; ++row) {
    float* x = host::Row(args.x, row);
    for (std::size_t head = 0; head < columns; head += size) {
      if (!args.norm_weight.empty())
        NormHead(x + head, host::Row(args.norm_weight, 0), size, args.epsilon);
      if (!args.angles.empty())
        RotateHead(x + head, host::Row(args.angles, row), size / 2);
    }
    if (args.scale == 1) continue;
    for (std::size_t i = 0; i < columns; i += kWidth)
      StoreUpTo(hn::Mul(LoadUpTo(x, i, columns), scale), x, i, columns);
  }
}

}  // namespace
}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace banyan {
namespace {

HWY_EXPORT(ActivateRows);

}  // namespace

absl::Status CpuBackend::Activate(const ActivateArgs& args) {
  Split(args.x.rows, 20.0 * args.x.rows * args.x.columns,
        [&](int first, int end) {
          HWY_DISPATCH_TABLE(ActivateRows)[kernel_](args, first, end);
        });
  return absl::OkStatus();
}

namespace {

HWY_EXPORT(NormRows);

}  // namespace

absl::Status CpuBackend::Norm(const NormArgs& args) {
  Split(args.x.rows, 4.0 * args.x.rows * args.x.columns,
        [&](int first, int end) {
          HWY_DISPATCH_TABLE(NormRows)[kernel_](args, first, end);
        });
  return absl::OkStatus();
}

namespace {

HWY_EXPORT(RotateRows);

}  // namespace

absl::Status CpuBackend::Rotate(const RotateArgs& args) {
  Split(args.x.rows, 4.0 * args.x.rows * args.x.columns,
        [&](int first, int end) {
          HWY_DISPATCH_TABLE(RotateRows)[kernel_](args, first, end);
        });
  return absl::OkStatus();
}

}  // namespace banyan
#endif  // HWY_ONCE
