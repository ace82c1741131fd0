// What the CUDA runtime's device needs of a machine, decided on plain numbers:
// no call of CUDA's is made here. Each is FailedPrecondition with what was
// found and what is needed.
#ifndef BANYAN_CORE_DEVICE_CUDA_NVIDIA_NEEDS_H_
#define BANYAN_CORE_DEVICE_CUDA_NVIDIA_NEEDS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace banyan {

// As CUDA numbers them, 12040 for 12.4; 0: there is none.
struct CudaVersions {
  int driver = 0;   // the latest that it runs
  int runtime = 0;  // that this program was built with
};

// "12.4".
std::string CudaVersionText(int version);

// A driver runs what its own major version, or an earlier one, has built.
absl::Status CheckCudaDriver(const CudaVersions& versions);

// `visible` is what CUDA_VISIBLE_DEVICES says, null if it is not set; `error`
// what the runtime says, if it counted none.
absl::Status CheckGpuCount(int gpus, const char* visible,
                           absl::string_view error);

// Whether some code of this program runs on a GPU of compute capability
// `major`.`minor`.
absl::Status CheckGpuArchitecture(absl::string_view gpu, int major, int minor,
                                  const CudaVersions& versions);

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_NVIDIA_NEEDS_H_
