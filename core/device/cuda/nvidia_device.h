// A CudaDevice of the CUDA runtime. Needs the CUDA Toolkit to build and a
// driver and a GPU to run.
#ifndef BANYAN_CORE_DEVICE_CUDA_NVIDIA_DEVICE_H_
#define BANYAN_CORE_DEVICE_CUDA_NVIDIA_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/device/cuda/device.h"

namespace banyan {

// The first GPU. FailedPrecondition, with what was found and what is needed, if
// there is no driver, one older than this build, no GPU, or one whose
// architecture this build has no kernels for.
absl::StatusOr<std::shared_ptr<CudaDevice>> OpenNvidiaDevice();

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_NVIDIA_DEVICE_H_
