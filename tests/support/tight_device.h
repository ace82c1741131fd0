// A host device whose memory somebody else can take.
#ifndef BANYAN_TESTS_SUPPORT_TIGHT_DEVICE_H_
#define BANYAN_TESTS_SUPPORT_TIGHT_DEVICE_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "core/device/cuda/host_device.h"
#include "core/ops/backend.h"

namespace banyan {

// Failures end the program.
class TightDevice {
 public:
  static constexpr std::size_t kMemory = std::size_t{16} << 20;

  TightDevice();

  const std::shared_ptr<Backend>& backend() const { return backend_; }
  // Returns the bytes that the backend has in use.
  std::size_t used() const;
  // Limits the backend's memory from now on, from used() to kMemory bytes.
  void Limit(std::size_t bytes);
  // By how many bytes an allocation was refused. The status must say so: what
  // was asked for, what of how much was free.
  static std::size_t Missing(const absl::Status& status);

 private:
  std::shared_ptr<HostDevice> device_;
  std::shared_ptr<Backend> backend_;
  DeviceSpan taken_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_TIGHT_DEVICE_H_
