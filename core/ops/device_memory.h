// DeviceMemory makes a device's buffers, and OwnedTensor is rows of numbers in
// one.
#ifndef BANYAN_CORE_OPS_DEVICE_MEMORY_H_
#define BANYAN_CORE_OPS_DEVICE_MEMORY_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/device/buffer.h"
#include "core/ops/op_args.h"

namespace banyan {

// DeviceMemory makes a device's buffers and copies numbers to and from them.

// Time: all work, that of ops too, is done in the order of the calls. Any call
// may return before its work is done, except those that give numbers to the
// caller (Download; DeviceOps::Law and Best) and Finish, which wait for all
// earlier calls. Work that fails after its call has returned fails the next
// call that waits, and all later ones. When a call returns, it has read what it
// needs of the caller's own memory. A buffer may be destroyed while work on it
// is under way.
//
// Safe for concurrent use on different buffers. Buffers belong to the memory
// that made them and may outlive it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // Returns memory that is zeroed.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Allocate(
      std::size_t bytes) = 0;
  virtual absl::Status Upload(absl::Span<const std::byte> from, Buffer& to,
                              std::size_t offset) = 0;
  virtual absl::Status Download(const Buffer& from, std::size_t offset,
                                absl::Span<std::byte> to) = 0;
  // Waits until everything that was called has been done.
  virtual absl::Status Finish() = 0;

  // Returns the most of the device's own memory that was in use at once; 0
  // where it is this machine's memory.
  virtual std::size_t peak_bytes() const { return 0; }
  // Fails with ResourceExhausted, the numbers, and `what` would take so much,
  // where the device knows that `bytes` more have no room.
  virtual absl::Status CheckRoom(std::size_t /*bytes*/,
                                 absl::string_view /*what*/) {
    return absl::OkStatus();
  }
};

// OwnedTensor: rows of numbers with their memory.
struct OwnedTensor {
  std::unique_ptr<Buffer> buffer;
  Tensor view;

  static absl::StatusOr<OwnedTensor> New(int rows, int columns,
                                         DeviceMemory& memory);
  // Rows of `view.columns` numbers, one after the other.
  absl::Status Upload(absl::Span<const float> rows, DeviceMemory& memory);
  absl::Status Download(std::vector<float>& rows, DeviceMemory& memory) const;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_DEVICE_MEMORY_H_
