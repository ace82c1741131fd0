#include "core/ops/norm.h"

#include <cstddef>

#include "absl/status/status.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/host/host.h"
#include "core/ops/tensor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/cpu/norm.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which Highway wants.
#include "core/ops/cpu/norm-inl.h"
#include "core/ops/cpu/simd-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {
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
}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace banyan {
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

}  // namespace banyan
#endif  // HWY_ONCE
