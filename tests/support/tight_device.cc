#include "tests/support/tight_device.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/device/cuda/span.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan {
TightDevice::TightDevice()
    : device_(std::make_shared<HostDevice>(
          HostDeviceOptions{.memory_bytes = kMemory})) {
  auto backend =
      CudaBackend::Create(device_, on_host::kOpKernels, "emulated_gpu");
  Check(backend.ok(), backend.status().message());
  backend_ = *std::move(backend);
}

std::size_t TightDevice::used() const {
  const absl::Status status = device_->Finish();  // what is freed, is
  Check(status.ok(), status.message());
  return device_->used_bytes() - taken_.bytes;
}

void TightDevice::Limit(std::size_t bytes) {
  Check(used() <= bytes && bytes <= kMemory, "a limit that cannot be");
  device_->Free(taken_);
  taken_ = {};
  Check(device_->Finish().ok(), "memory is freed");
  const auto taken = device_->Allocate(kMemory - bytes, "somebody else's");
  Check(taken.ok(), taken.status().message());
  taken_ = *taken;
}

std::size_t TightDevice::Missing(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  static const std::regex pattern(
      ".*(buffer|scratch|weights): ([0-9]+) bytes on the device, of which "
      "([0-9]+) of "
      "([0-9]+) are free");
  const std::string said(status.message());
  std::smatch found;
  Check(std::regex_match(said, found, pattern), said);
  const std::size_t asked = std::stoull(found[2]);
  const std::size_t free = std::stoull(found[3]);
  EXPECT_EQ(std::stoull(found[4]), kMemory);
  Check(asked > free, "a refusal with a reason");
  return asked - free;
}

}  // namespace banyan
