// cuBLAS, found when somebody asks for it: half a gigabyte that programs which
// never do need not load.
#ifndef BANYAN_CORE_DEVICE_CUDA_NVIDIA_PRODUCTS_H_
#define BANYAN_CORE_DEVICE_CUDA_NVIDIA_PRODUCTS_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/device/cuda/matrix_product.h"
#include "core/device/cuda/span.h"

struct CUstream_st;  // what a cudaStream_t points to

namespace banyan {

// Not safe for concurrent use.
class NvidiaProducts {
 public:
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

  // The library of the CUDA that this program was built with. Products go to
  // `stream` and use `workspace`, so that they can be captured; both outlive
  // this. FailedPrecondition if there is none.
  static absl::StatusOr<std::unique_ptr<NvidiaProducts>> Open(
      CUstream_st* stream, DeviceSpan workspace);
  virtual ~NvidiaProducts() = default;

  virtual absl::Status Multiply(const MatrixProduct& product) = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_NVIDIA_PRODUCTS_H_
