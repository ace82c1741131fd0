// CudaDevice: memory, copies, kernels and graphs of one device, in one order.
//
// Two kinds are made: by the CUDA runtime (nvidia_device.h), and on this
// machine's processor, which runs the same kernels strictly (host_device.h).
#ifndef BANYAN_CORE_DEVICE_CUDA_DEVICE_H_
#define BANYAN_CORE_DEVICE_CUDA_DEVICE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/device/cuda/matrix_product.h"
#include "core/device/cuda/span.h"
#include "core/device/gpu_facts.h"

namespace banyan {

struct CudaDeviceFacts {
  std::string name;
  std::size_t memory_bytes = 0;  // that allocations may take, in all
  // Of memory that the threads of a block share, at most.
  int block_shared_bytes = LaunchShape::kMostSharedBytes;
  GpuFacts gpu;  // of the host device none
};

// What was captured, to be done again: the same calls with the same arguments.
class CudaGraph {
 public:
  virtual ~CudaGraph() = default;
};

// Work is done in the order of the calls. All but Finish and Allocate only ask
// for it; what fails then fails the next Finish and everything after it. Safe
// for concurrent use, but for Capture.
class CudaDevice {
 public:
  virtual ~CudaDevice() = default;

  virtual const CudaDeviceFacts& facts() const = 0;
  // In use, and the most there ever was.
  virtual std::size_t used_bytes() const = 0;
  virtual std::size_t peak_bytes() const = 0;
  // What Allocate has room for just now, others' work on the device counted.
  virtual absl::StatusOr<std::size_t> FreeBytes() = 0;

  // Of at least 256 bytes' alignment; it holds anything. ResourceExhausted with
  // the sizes if there is no room.
  virtual absl::StatusOr<DeviceSpan> Allocate(std::size_t bytes,
                                              const std::string& name) = 0;
  // Once the work that was asked for before is done.
  virtual void Free(DeviceSpan span) = 0;

  // Memory of this machine that copies take part in. Must outlive those, and
  // graphs of them.
  virtual absl::StatusOr<void*> AllocatePinned(std::size_t bytes) = 0;
  virtual void FreePinned(void* memory) = 0;

  // `from` and `to` on this machine are pinned.
  virtual void CopyIn(const void* from, DeviceSpan to) = 0;
  virtual void CopyOut(DeviceSpan from, void* to) = 0;
  // Of equal sizes; they do not overlap.
  virtual void CopyWithin(DeviceSpan from, DeviceSpan to) = 0;
  virtual void FillZero(DeviceSpan span) = 0;

  // Before the first product: opens what makes them. FailedPrecondition if that
  // is not on this machine.
  virtual absl::Status OpenProducts() = 0;
  virtual void Multiply(const MatrixProduct& product) = 0;

  virtual absl::Status Finish() = 0;

  // Whether the next launches, of kernels that name kAwaits (kernel.h), are set
  // up early.
  void StartEarly(bool early) { early_ = early; }
  bool early() const { return early_; }

  // What `work` asks for is kept and not done. It finishes nothing; Allocate
  // fails, and what anybody frees meanwhile is freed after it, once: what is
  // kept must not use it.
  virtual absl::StatusOr<std::unique_ptr<CudaGraph>> Capture(
      absl::FunctionRef<void()> work) = 0;
  virtual void Replay(const CudaGraph& graph) = 0;

 private:
  bool early_ = false;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_DEVICE_H_
