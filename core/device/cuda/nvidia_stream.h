// The stream of a device made by the CUDA runtime, for what launches on it.
#ifndef BANYAN_CORE_DEVICE_CUDA_NVIDIA_STREAM_H_
#define BANYAN_CORE_DEVICE_CUDA_NVIDIA_STREAM_H_

#include <cuda_runtime.h>

#include "core/device/cuda/device.h"

namespace banyan {

class NvidiaStream {
 public:
  // The device is one of the CUDA runtime's, and outlives this.
  explicit NvidiaStream(CudaDevice& device) : device_(device) {}

  cudaStream_t native() const;
  // Keeps the first error, which the device's Finish tells.
  void Check(cudaError_t error, const char* what) const;

 private:
  CudaDevice& device_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_NVIDIA_STREAM_H_
