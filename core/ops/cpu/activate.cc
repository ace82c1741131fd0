#include "core/ops/activate.h"

#include <cstddef>

#include "absl/status/status.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/host/host.h"
#include "core/ops/tensor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/cpu/activate.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which Highway wants.
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

}  // namespace banyan
#endif  // HWY_ONCE
