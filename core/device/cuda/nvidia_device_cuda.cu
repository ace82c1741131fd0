// Memory, copies and graphs by the CUDA runtime; every call is checked.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/kernel.h"
#include "core/device/cuda/nvidia_device.h"
#include "core/device/cuda/span.h"

namespace banyan {
namespace {

absl::Status ErrorOf(cudaError_t error, absl::string_view what) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string text = absl::StrCat(what, ": ", cudaGetErrorString(error),
                                        " (", cudaGetErrorName(error), ")");
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(text)
                                            : absl::InternalError(text);
}

struct NvidiaGraph : CudaGraph {
  explicit NvidiaGraph(cudaGraphExec_t made) : exec(made) {}
  ~NvidiaGraph() override { cudaGraphExecDestroy(exec); }
  cudaGraphExec_t exec;
};

// A kernel whose image tells whether this build has one for the GPU.
struct ProbeKernel {
  BANYAN_DEVICE void operator()(const on_nvidia::Thread&) const {}
};

}  // namespace

class NvidiaDevice final : public CudaDevice {
 public:
  NvidiaDevice(CudaDeviceFacts facts, cudaStream_t stream)
      : facts_(std::move(facts)), stream_(stream) {}
  ~NvidiaDevice() override {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  const CudaDeviceFacts& facts() const override { return facts_; }
  std::size_t used_bytes() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return used_;
  }
  std::size_t peak_bytes() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return peak_;
  }

  absl::StatusOr<DeviceSpan> Allocate(std::size_t bytes,
                                      const std::string& name) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    void* data = nullptr;
    // In the order of the stream, so that what is freed is used again at once.
    const cudaError_t error =
        cudaMallocAsync(&data, std::max<std::size_t>(bytes, 1), stream_);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // it is told here
      std::size_t free = 0;
      std::size_t all = 0;
      cudaMemGetInfo(&free, &all);
      return absl::ResourceExhaustedError(
          absl::StrCat(name, ": ", bytes, " bytes on the device, of which ",
                       free, " of ", all, " are free"));
    }
    if (error != cudaSuccess) return ErrorOf(error, name);
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    sizes_[data] = bytes;
    return DeviceSpan{static_cast<std::byte*>(data), bytes};
  }
  void Free(DeviceSpan span) override {
    if (span.data == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    used_ -= sizes_.at(span.data);
    sizes_.erase(span.data);
    Keep(cudaFreeAsync(span.data, stream_), "free");
  }

  absl::StatusOr<void*> AllocatePinned(std::size_t bytes) override {
    void* memory = nullptr;
    const cudaError_t error = cudaMallocHost(&memory, bytes);
    if (error != cudaSuccess) return ErrorOf(error, "pinned memory");
    return memory;
  }
  void FreePinned(void* memory) override { cudaFreeHost(memory); }

  void CopyIn(const void* from, DeviceSpan to) override {
    Copy(to.data, from, to.bytes, cudaMemcpyHostToDevice, "copy to the device");
  }
  void CopyOut(DeviceSpan from, void* to) override {
    Copy(to, from.data, from.bytes, cudaMemcpyDeviceToHost,
         "copy from the device");
  }
  void CopyWithin(DeviceSpan from, DeviceSpan to) override {
    Copy(to.data, from.data, to.bytes, cudaMemcpyDeviceToDevice,
         "copy within the device");
  }
  void FillZero(DeviceSpan span) override {
    if (span.bytes == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    Keep(cudaMemsetAsync(span.data, 0, span.bytes, stream_), "fill");
  }

  absl::Status Finish() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    Keep(cudaStreamSynchronize(stream_), "the device's work");
    return status_;
  }

  absl::StatusOr<std::unique_ptr<CudaGraph>> Capture(
      absl::FunctionRef<void()> work) override {
    const auto begun = ErrorOf(
        cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
        "capture");
    if (!begun.ok()) return begun;
    work();
    cudaGraph_t graph = nullptr;
    auto status = ErrorOf(cudaStreamEndCapture(stream_, &graph), "capture");
    if (!status.ok()) return status;
    cudaGraphExec_t exec = nullptr;
    status = ErrorOf(cudaGraphInstantiate(&exec, graph, 0), "a graph");
    cudaGraphDestroy(graph);
    if (!status.ok()) return status;
    return std::make_unique<NvidiaGraph>(exec);
  }
  void Replay(const CudaGraph& graph) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    Keep(cudaGraphLaunch(static_cast<const NvidiaGraph&>(graph).exec, stream_),
         "a graph");
  }

  cudaStream_t stream() const { return stream_; }
  void Told(cudaError_t error, const char* what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Keep(error, what);
  }

 private:
  void Copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
            const char* what) {
    if (bytes == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    Keep(cudaMemcpyAsync(to, from, bytes, kind, stream_), what);
  }
  // The first error stays.
  void Keep(cudaError_t error, absl::string_view what) {
    if (status_.ok()) status_ = ErrorOf(error, what);
  }

  const CudaDeviceFacts facts_;
  const cudaStream_t stream_;
  mutable std::mutex mutex_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::unordered_map<void*, std::size_t> sizes_;
  absl::Status status_;
};

cudaStream_t NvidiaStream::native() const {
  return static_cast<NvidiaDevice&>(device_).stream();
}

void NvidiaStream::Check(cudaError_t error, const char* what) const {
  static_cast<NvidiaDevice&>(device_).Told(error, what);
}

absl::StatusOr<std::shared_ptr<CudaDevice>> OpenNvidiaDevice() {
  int driver = 0;
  int devices = 0;
  cudaDriverGetVersion(&driver);
  const auto version = [](int number) {
    return absl::StrCat(number / 1000, ".", number % 1000 / 10);
  };
  if (driver == 0)
    return absl::FailedPreconditionError(
        "cuda: there is no driver of an NVIDIA GPU on this machine");
  if (driver / 1000 < CUDART_VERSION / 1000)
    return absl::FailedPreconditionError(
        absl::StrCat("cuda: the driver knows CUDA ", version(driver),
                     ", this build needs ", version(CUDART_VERSION)));
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    return absl::FailedPreconditionError(
        absl::StrCat("cuda: the driver sees no GPU (",
                     cudaGetErrorName(cudaGetLastError()), ")"));
  cudaDeviceProp properties;
  auto status = ErrorOf(cudaGetDeviceProperties(&properties, 0), "cuda");
  if (!status.ok()) return status;
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, on_nvidia::Run<ProbeKernel>) !=
      cudaSuccess) {
    cudaGetLastError();
    return absl::FailedPreconditionError(absl::StrCat(
        "cuda: this build has no kernels for ", properties.name,
        ", of architecture ", properties.major, ".", properties.minor));
  }
  cudaStream_t stream = nullptr;
  status = ErrorOf(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                   "a stream");
  if (!status.ok()) return status;
  return std::make_shared<NvidiaDevice>(
      CudaDeviceFacts{.name = properties.name,
                      .memory_bytes = properties.totalGlobalMem},
      stream);
}

}  // namespace banyan
