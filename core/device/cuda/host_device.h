// HostDevice: a CudaDevice that is this machine's processor.
//
// Kernels are the same sources, compiled by the C++ compiler. Their threads are
// fibres (host_block.h) and every access is checked (host_memory.h), so a fault
// that a real device would let pass is an error that names kernel, block and
// thread. Work is done when Finish is called, or when only freeing makes room
// for an allocation. The calling thread does one call after the other, so a
// debugger stops in a kernel as in any function.
#ifndef BANYAN_CORE_DEVICE_CUDA_HOST_DEVICE_H_
#define BANYAN_CORE_DEVICE_CUDA_HOST_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/host_block.h"
#include "core/device/cuda/host_memory.h"
#include "core/device/cuda/matrix_product.h"
#include "core/device/cuda/span.h"
#include "core/device/cuda/tensor_core.h"

namespace banyan {

struct HostDeviceOptions {
  std::uint64_t seed = 0;  // of the threads' order
  std::size_t memory_bytes = std::size_t{64} << 30;
  int block_shared_bytes = LaunchShape::kMostSharedBytes;
  // How its tensor cores add.
  TensorCore core = {};
  bool count_sectors = false;  // LaunchTraffic's
  // After `launches` launches the device is lost, as a GPU may be; -1: never.
  int launches = -1;
};

class HostDevice final : public CudaDevice {
 public:
  explicit HostDevice(const HostDeviceOptions& options);
  ~HostDevice() override;

  // The device is one.
  static HostDevice& Of(CudaDevice& device) {
    return static_cast<HostDevice&>(device);
  }

  const CudaDeviceFacts& facts() const override { return facts_; }
  std::size_t used_bytes() const override;
  std::size_t peak_bytes() const override;
  absl::StatusOr<std::size_t> FreeBytes() override;
  absl::StatusOr<DeviceSpan> Allocate(std::size_t bytes,
                                      const std::string& name) override;
  void Free(DeviceSpan span) override;
  absl::StatusOr<void*> AllocatePinned(std::size_t bytes) override;
  void FreePinned(void* memory) override;
  void CopyIn(const void* from, DeviceSpan to) override;
  void CopyOut(DeviceSpan from, void* to) override;
  void CopyWithin(DeviceSpan from, DeviceSpan to) override;
  void FillZero(DeviceSpan span) override;
  // In plain loops.
  absl::Status OpenProducts() override { return absl::OkStatus(); }
  void Multiply(const MatrixProduct& product) override;
  absl::Status Finish() override;
  absl::StatusOr<std::unique_ptr<CudaGraph>> Capture(
      absl::FunctionRef<void()> work) override;
  void Replay(const CudaGraph& graph) override;

  void Launch(absl::string_view kernel, LaunchShape shape,
              std::function<void(HostThread&)> run);
  // The allocation that holds the span, which a kernel may write; null for an
  // empty one.
  HostMemory* Find(DeviceSpan span, bool written);
  // By kernel, of all its launches.
  const std::map<std::string, LaunchTraffic>& traffic() const {
    return traffic_;
  }

 private:
  struct Work;
  struct Graph;

  // Without the lock.
  HostMemory* Holder(DeviceSpan span);
  void MarkWritten(DeviceSpan span);
  void Ask(Work work);
  // The pinned memory that holds it; fails the device if there is none.
  absl::Status CheckPinned(const void* memory, std::size_t bytes) const;
  absl::Status Do(const Work& work);
  void DoAsked();

  CudaDeviceFacts facts_;
  mutable std::mutex mutex_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::map<const std::byte*, std::unique_ptr<HostMemory>> memories_;
  std::map<const std::byte*, std::vector<std::byte>> pinned_;
  std::vector<Work> asked_;
  std::vector<Work>* captured_ = nullptr;  // while capturing
  std::vector<DeviceSpan> freed_;          // meanwhile
  absl::Status status_;
  HostBlock block_;
  std::uint32_t launches_ = 0;
  const TensorCore core_;
  const bool counts_sectors_;
  const std::int64_t most_launches_;
  std::map<std::string, LaunchTraffic> traffic_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_HOST_DEVICE_H_
