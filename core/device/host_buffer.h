// HostBuffer: memory of this machine.
#ifndef BANYAN_CORE_DEVICE_HOST_BUFFER_H_
#define BANYAN_CORE_DEVICE_HOST_BUFFER_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "core/device/buffer.h"

namespace banyan {

// Owned, zeroed, aligned to a cache line; in huge pages where it is large and
// the system has them.
class HostBuffer : public Buffer {
 public:
  // Fails with ResourceExhausted if there is no memory.
  static absl::StatusOr<std::unique_ptr<HostBuffer>> Allocate(
      std::size_t bytes);
  ~HostBuffer() override;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::size_t bytes() const override { return bytes_; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }

 private:
  HostBuffer(std::byte* data, std::size_t bytes, std::size_t mapped);

  std::byte* data_;
  std::size_t bytes_;
  std::size_t mapped_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_HOST_BUFFER_H_
