// The kernels of a round, as two makers make them (op_kernels.h).
#ifndef BANYAN_CORE_OPS_CUDA_KERNELS_ROUND_KERNELS_H_
#define BANYAN_CORE_OPS_CUDA_KERNELS_ROUND_KERNELS_H_

#include <cstdint>

#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"
#include "core/ops/cuda/device/round_layout.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"

namespace banyan {

// The memory of a round.
struct RoundSpans {
  RoundLayout layout;
  DeviceSpan doubles;
  DeviceSpan integers;
  DeviceSpan draft_laws;   // rows of doubles, one a token
  DeviceSpan target_laws;  // the same
  DeviceSpan residual;     // one row
  DeviceSpan seen;   // integers: how often a token stands in the text; or none
  DeviceSpan order;  // integers, where rules leave tokens out; or none
  std::uint64_t seed = 0;
};

struct SelectLaunch {
  RoundSpans round;
  int level = 0;
  int first_row = 0;  // of the level's, in the drafter's passes
  int width = 0;
};

// Rows of logits. Their distributions become rows of target_laws or draft_laws,
// from `first_law` on.
struct LawsLaunch {
  RoundSpans round;
  LawRule rule;
  Tensor logits;
  DeviceSpan columns;  // integers, by token: its logit, -1 if none; or none
  bool of_target = false;
  int first_law = 0;
};

struct DrawLaunch {
  RoundSpans round;
  int level = 0;
  int width = 0;
  int first_law = 0;
};

// Some layers of one model: at most kKeepLayers.
inline constexpr int kKeepLayers = 16;
struct KeepLaunch {
  RoundSpans round;
  bool of_target = false;
  int layers = 0;
  const KvCache* caches[kKeepLayers];
};

struct RoundKernels {
  void (*select)(CudaDevice& device, const SelectLaunch& launch);
  void (*laws)(CudaDevice& device, const LawsLaunch& launch);
  void (*draw)(CudaDevice& device, const DrawLaunch& launch);
  void (*verify)(CudaDevice& device, const RoundSpans& round);
  void (*keep)(CudaDevice& device, const KeepLaunch& launch);
};

namespace on_host {
extern const RoundKernels kRoundKernels;
}
namespace on_nvidia {
extern const RoundKernels kRoundKernels;
}

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_KERNELS_ROUND_KERNELS_H_
