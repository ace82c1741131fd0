#include "core/ops/cuda/staging.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/memory/memory.h"
#include "core/base/common.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"

namespace banyan {
namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<Staging>> Staging::Create(
    std::shared_ptr<CudaDevice> device) {
  BANYAN_ASSIGN_OR_RETURN(void* const memory, device->AllocatePinned(kBytes));
  return absl::WrapUnique(
      new Staging(std::move(device), static_cast<std::byte*>(memory)));
}

Staging::Staging(std::shared_ptr<CudaDevice> device, std::byte* memory)
    : device_(std::move(device)), memory_(memory) {}

Staging::~Staging() {
  (void)device_->Finish();  // nobody is left to be told
  device_->FreePinned(memory_);
}

absl::Status Staging::Finish() {
  used_ = 0;
  return device_->Finish();
}

absl::Status Staging::CopyIn(absl::Span<const std::byte> from, DeviceSpan to) {
  while (!from.empty()) {
    if (used_ == kBytes) BANYAN_RETURN_IF_ERROR(Finish());
    const std::size_t some = std::min(from.size(), kBytes - used_);
    std::memcpy(memory_ + used_, from.data(), some);
    device_->CopyIn(memory_ + used_, to.Part(0, some));
    used_ += some;
    from.remove_prefix(some);
    to = to.Part(some, to.bytes - some);
  }
  return absl::OkStatus();
}

absl::Status Staging::CopyOut(DeviceSpan from, absl::Span<std::byte> to) {
  // What copies to the device still read is not written over.
  if (used_ > 0) BANYAN_RETURN_IF_ERROR(Finish());
  while (!to.empty()) {
    const std::size_t some = std::min(to.size(), kBytes);
    device_->CopyOut(from.Part(0, some), memory_);
    BANYAN_RETURN_IF_ERROR(device_->Finish());
    std::memcpy(to.data(), memory_, some);
    to.remove_prefix(some);
    from = from.Part(some, from.bytes - some);
  }
  return absl::OkStatus();
}

}  // namespace banyan
