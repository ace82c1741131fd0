// A host device that a test runs kernels of its own on.
#ifndef BANYAN_TESTS_CORE_DEVICE_CUDA_HOST_FIXTURE_H_
#define BANYAN_TESTS_CORE_DEVICE_CUDA_HOST_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/device/cuda/host_device.h"
#include "core/device/cuda/kernel.h"
#include "core/device/cuda/span.h"

namespace banyan::on_host {

// A kernel that a test writes where it is launched.
struct Free {
  static constexpr const char* kName = "free_hand";
  std::function<void(const Thread&)> run;
  void operator()(const Thread& t) const { run(t); }
};

class HostDeviceTest : public testing::Test {
 protected:
  explicit HostDeviceTest(std::uint64_t seed = 1)
      : device_({.seed = seed, .count_sectors = true}) {}

  // Memory that holds these numbers.
  template <typename T>
  DeviceSpan Put(const std::vector<T>& numbers) {
    const DeviceSpan span = Fresh(numbers.size() * sizeof(T));
    void* pinned = device_.AllocatePinned(span.bytes).value();
    std::memcpy(pinned, numbers.data(), span.bytes);
    device_.CopyIn(pinned, span);
    return span;
  }
  DeviceSpan Fresh(std::size_t bytes) {
    return device_.Allocate(bytes, "numbers").value();
  }
  template <typename T>
  std::vector<T> Take(DeviceSpan span) {
    void* pinned = device_.AllocatePinned(span.bytes).value();
    device_.CopyOut(span, pinned);
    const absl::Status status = device_.Finish();
    EXPECT_TRUE(status.ok()) << status;
    std::vector<T> numbers(span.bytes / sizeof(T));
    std::memcpy(numbers.data(), pinned, span.bytes);
    return numbers;
  }
  // Returns the error message of a launch of this shape; "" if it succeeds.
  std::string Says(LaunchShape shape, std::function<void(const Thread&)> run) {
    Launch(device_, shape, Free{std::move(run)});
    return std::string(device_.Finish().message());
  }
  template <typename T>
  Global<T> On(DeviceSpan span) {
    return Global<T>(device_, span);
  }

  HostDevice device_;
};

}  // namespace banyan::on_host

#endif  // BANYAN_TESTS_CORE_DEVICE_CUDA_HOST_FIXTURE_H_
