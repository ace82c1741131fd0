// Staging: copies between a device and any memory of this machine, by way of
// some that is pinned.
#ifndef BANYAN_CORE_OPS_CUDA_STAGING_H_
#define BANYAN_CORE_OPS_CUDA_STAGING_H_

#include <cstddef>
#include <memory>

#include "core/base/common.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"

namespace banyan {

// Not safe for concurrent use.
class Staging {
 public:
  static absl::StatusOr<std::unique_ptr<Staging>> Create(
      std::shared_ptr<CudaDevice> device);
  ~Staging();

  // Has read `from` when it returns; waits only where there is no room.
  absl::Status CopyIn(absl::Span<const std::byte> from, DeviceSpan to);
  // Waits.
  absl::Status CopyOut(DeviceSpan from, absl::Span<std::byte> to);
  // Waits for all work of the device.
  absl::Status Finish();

 private:
  Staging(std::shared_ptr<CudaDevice> device, std::byte* memory);

  const std::shared_ptr<CudaDevice> device_;
  std::byte* const memory_;
  std::size_t used_ = 0;  // bytes that copies may still read
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_STAGING_H_
