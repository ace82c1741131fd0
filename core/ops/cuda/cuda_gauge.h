// A gauge of a device of CUDA's kind (backend.h), by kernels of its own.
#ifndef BANYAN_CORE_OPS_CUDA_CUDA_GAUGE_H_
#define BANYAN_CORE_OPS_CUDA_CUDA_GAUGE_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/device/cuda/device.h"
#include "core/ops/backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan {

struct CudaGaugeOptions {
  std::size_t bytes = 0;  // of the buffer; at least 16 are read
  int blocks = 1;         // of a launch: enough to fill the device
  int rounds = 4096;      // of products in a launch
};

// `kernels` are those of the device's maker; the clock outlives the gauge.
// Nobody else uses the device while it measures.
absl::StatusOr<std::unique_ptr<Gauge>> NewCudaGauge(
    std::shared_ptr<CudaDevice> device, const OpKernels& kernels,
    const CudaGaugeOptions& options, const Clock& clock);

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_CUDA_GAUGE_H_
