// A round's memory as launches get it.
#ifndef BANYAN_CORE_OPS_CUDA_KERNELS_ROUND_SPANS_H_
#define BANYAN_CORE_OPS_CUDA_KERNELS_ROUND_SPANS_H_

#include <cstdint>

#include "core/device/cuda/span.h"
#include "core/ops/op_args.h"
#include "core/round/distribution_step.h"
#include "core/round/layout.h"

namespace banyan {

// RoundMemory and DistributionArgs (core/ops/round_args.h).
struct RoundSpans {
  RoundLayout layout;
  std::uint64_t seed = 0;
  DeviceSpan doubles;
  DeviceSpan integers;
  DeviceSpan draft_distributions;
  DeviceSpan target_distributions;
  DeviceSpan residual;
  DeviceSpan seen;
  DeviceSpan order;
};
struct DistributionLaunch {
  DistributionRule rule;
  DeviceSpan banned;
  DeviceSpan columns;
  Tensor logits;
  DistributionPlace place;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_KERNELS_ROUND_SPANS_H_
