// Memory, copies and graphs by the CUDA runtime; every call is checked.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/kernel.h"
#include "core/device/cuda/matrix_product.h"
#include "core/device/cuda/nvidia_device.h"
#include "core/device/cuda/nvidia_needs.h"
#include "core/device/cuda/nvidia_products.h"
#include "core/device/cuda/span.h"
#include "core/device/gpu_facts.h"

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
  // The stream is its own from now on; `pool` is the GPU's.
  NvidiaDevice(CudaDeviceFacts facts, cudaStream_t stream, cudaMemPool_t pool)
      : facts_(std::move(facts)), stream_(stream), pool_(pool) {}
  ~NvidiaDevice() override {
    // Nobody is left to be told.
    cudaStreamSynchronize(stream_);
    products_ = nullptr;
    if (workspace_.data != nullptr) cudaFreeAsync(workspace_.data, stream_);
    cudaStreamDestroy(stream_);
    cudaMemPoolTrimTo(pool_, 0);
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
  absl::StatusOr<std::size_t> FreeBytes() override {
    std::size_t free = 0;
    std::size_t all = 0;
    BANYAN_RETURN_IF_ERROR(Error(cudaMemGetInfo(&free, &all), "free memory"));
    // What the pool keeps counts as taken there.
    std::uint64_t reserved = 0;
    std::uint64_t used = 0;
    BANYAN_RETURN_IF_ERROR(
        Error(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent,
                                      &reserved),
              "free memory"));
    BANYAN_RETURN_IF_ERROR(Error(
        cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used),
        "free memory"));
    return free + static_cast<std::size_t>(reserved - used);
  }

  absl::StatusOr<DeviceSpan> Allocate(std::size_t bytes,
                                      const std::string& name) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    // It would belong to the graph.
    if (capturing_)
      return absl::FailedPreconditionError(
          absl::StrCat(name, ": no memory is allocated while capturing"));
    void* data = nullptr;
    // In the order of the stream, so that what is freed is used again at once.
    const std::size_t asked = std::max<std::size_t>(bytes, 1);
    cudaError_t error = cudaMallocAsync(&data, asked, stream_);
    if (error == cudaErrorMemoryAllocation) {
      // Once more, with what was freed in other sizes.
      cudaGetLastError();
      Keep(cudaStreamSynchronize(stream_), "the device's work");
      cudaMemPoolTrimTo(pool_, 0);
      error = cudaMallocAsync(&data, asked, stream_);
    }
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // it is told here
      std::size_t free = 0;
      std::size_t all = 0;
      cudaMemGetInfo(&free, &all);
      return absl::ResourceExhaustedError(
          absl::StrCat(name, ": ", bytes, " bytes on the device, of which ",
                       free, " of ", all, " are free"));
    }
    BANYAN_RETURN_IF_ERROR(Error(error, name));
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    sizes_[data] = bytes;
    return DeviceSpan{static_cast<std::byte*>(data), bytes};
  }
  void Free(DeviceSpan span) override {
    if (span.data == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    // Each replay of the graph would free it once more.
    if (capturing_)
      freed_.push_back(span.data);
    else
      FreeNow(span.data);
  }

  absl::StatusOr<void*> AllocatePinned(std::size_t bytes) override {
    void* memory = nullptr;
    BANYAN_RETURN_IF_ERROR(
        Error(cudaMallocHost(&memory, std::max<std::size_t>(bytes, 1)),
              "pinned memory"));
    return memory;
  }
  void FreePinned(void* memory) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    Keep(cudaFreeHost(memory), "free pinned memory");
  }

  void CopyIn(const void* from, DeviceSpan to) override {
    Copy(to.data, from, to.bytes, cudaMemcpyHostToDevice, "copy to the device");
  }
  void CopyOut(DeviceSpan from, void* to) override {
    Copy(to, from.data, from.bytes, cudaMemcpyDeviceToHost,
         "copy from the device");
  }
  void CopyWithin(DeviceSpan from, DeviceSpan to) override {
    Check(from.bytes == to.bytes, "copies are between equal sizes");
    Copy(to.data, from.data, to.bytes, cudaMemcpyDeviceToDevice,
         "copy within the device");
  }
  void FillZero(DeviceSpan span) override {
    if (span.bytes == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    Keep(cudaMemsetAsync(span.data, 0, span.bytes, stream_), "fill");
  }

  absl::Status OpenProducts() override {
    if (products_ != nullptr) return absl::OkStatus();
    if (workspace_.data == nullptr) {
      BANYAN_ASSIGN_OR_RETURN(
          workspace_, Allocate(NvidiaProducts::kWorkspaceBytes, "cuBLAS"));
    }
    BANYAN_ASSIGN_OR_RETURN(products_,
                            NvidiaProducts::Open(stream_, workspace_));
    return absl::OkStatus();
  }
  void Multiply(const MatrixProduct& product) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const absl::Status status = products_->Multiply(product);
    if (status_.ok() && !status.ok())
      status_ = absl::InternalError(
          absl::StrCat(facts_.name, ": ", status.message()));
  }

  absl::Status Finish() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    Check(!capturing_, "nothing is finished while capturing");
    Keep(cudaStreamSynchronize(stream_), "the device's work");
    return status_;
  }

  absl::StatusOr<std::unique_ptr<CudaGraph>> Capture(
      absl::FunctionRef<void()> work) override {
    BANYAN_RETURN_IF_ERROR(Error(BeginCapturing(), "capture"));
    work();
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = EndCapturing(graph);
    BANYAN_RETURN_IF_ERROR(Error(ended, "capture"));
    cudaGraphExec_t exec = nullptr;
    const absl::Status made =
        Error(cudaGraphInstantiate(&exec, graph, 0), "a graph");
    cudaGraphDestroy(graph);
    if (!made.ok()) return made;
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
  absl::Status Error(cudaError_t error, absl::string_view what) const {
    return ErrorOf(error, absl::StrCat(facts_.name, ": ", what));
  }
  void Copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
            const char* what) {
    if (bytes == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    Keep(cudaMemcpyAsync(to, from, bytes, kind, stream_), what);
  }
  // The first error stays.
  void Keep(cudaError_t error, absl::string_view what) {
    if (status_.ok()) status_ = Error(error, what);
  }
  void FreeNow(void* data) {
    const auto found = sizes_.find(data);
    Check(found != sizes_.end(), "memory of this device");
    used_ -= found->second;
    sizes_.erase(found);
    Keep(cudaFreeAsync(data, stream_), "free");
  }
  cudaError_t BeginCapturing() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const cudaError_t begun =
        cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    capturing_ = begun == cudaSuccess;
    return begun;
  }
  cudaError_t EndCapturing(cudaGraph_t& graph) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
    capturing_ = false;
    for (void* const data : freed_) FreeNow(data);
    freed_.clear();
    return ended;
  }

  const CudaDeviceFacts facts_;
  const cudaStream_t stream_;
  const cudaMemPool_t pool_;
  std::unique_ptr<NvidiaProducts> products_;  // null until they are asked for
  DeviceSpan workspace_;
  mutable std::mutex mutex_;
  bool capturing_ = false;
  std::vector<void*> freed_;  // while capturing
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

bool NvidiaStream::starts_early() const {
  return !absl::StartsWith(device_.facts().gpu.capability, "8.");
}

namespace {

// Of the first GPU.
absl::Status Read(cudaDeviceAttr attribute, int& value) {
  return ErrorOf(cudaDeviceGetAttribute(&value, attribute, 0), "cuda");
}

absl::StatusOr<GpuFacts> ReadFacts(const cudaDeviceProp& properties,
                                   const CudaVersions& versions) {
  std::string release;
  std::ifstream("/sys/module/nvidia/version") >> release;
  GpuFacts facts = {
      .name = properties.name,
      .capability = absl::StrCat(properties.major, ".", properties.minor),
      .driver = absl::StrCat(release, release.empty() ? "" : " ", "for CUDA ",
                             CudaVersionText(versions.driver)),
      .runtime = CudaVersionText(versions.runtime),
      .memory_bytes = properties.totalGlobalMem};
  int clock_khz = 0;
  int memory_clock_khz = 0;
  BANYAN_RETURN_IF_ERROR(
      Read(cudaDevAttrMultiProcessorCount, facts.multiprocessors));
  BANYAN_RETURN_IF_ERROR(
      Read(cudaDevAttrGlobalMemoryBusWidth, facts.memory_bus_bits));
  BANYAN_RETURN_IF_ERROR(Read(cudaDevAttrClockRate, clock_khz));
  BANYAN_RETURN_IF_ERROR(Read(cudaDevAttrMemoryClockRate, memory_clock_khz));
  facts.clock_mhz = clock_khz / 1e3;
  facts.memory_clock_mhz = memory_clock_khz / 1e3;
  return facts;
}

// The GPU's own, which from now on keeps what is freed for whoever allocates
// next, instead of giving it back at every Finish.
absl::StatusOr<cudaMemPool_t> OpenPool(const std::string& gpu) {
  int pools = 0;
  BANYAN_RETURN_IF_ERROR(Read(cudaDevAttrMemoryPoolsSupported, pools));
  if (pools == 0)
    return absl::FailedPreconditionError(absl::StrCat(
        "cuda: ", gpu, " has no pools of memory (cudaMallocAsync) here"));
  cudaMemPool_t pool = nullptr;
  BANYAN_RETURN_IF_ERROR(ErrorOf(cudaDeviceGetDefaultMemPool(&pool, 0), gpu));
  std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  BANYAN_RETURN_IF_ERROR(ErrorOf(
      cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
      gpu));
  return pool;
}

}  // namespace

absl::StatusOr<std::shared_ptr<CudaDevice>> OpenNvidiaDevice() {
  CudaVersions versions = {.runtime = CUDART_VERSION};
  BANYAN_RETURN_IF_ERROR(
      ErrorOf(cudaDriverGetVersion(&versions.driver), "cuda"));
  BANYAN_RETURN_IF_ERROR(CheckCudaDriver(versions));
  int gpus = 0;
  const cudaError_t counted = cudaGetDeviceCount(&gpus);
  cudaGetLastError();  // it is told here
  BANYAN_RETURN_IF_ERROR(CheckGpuCount(
      counted == cudaSuccess ? gpus : 0, std::getenv("CUDA_VISIBLE_DEVICES"),
      counted == cudaSuccess || counted == cudaErrorNoDevice
          ? ""
          : cudaGetErrorString(counted)));
  BANYAN_RETURN_IF_ERROR(ErrorOf(cudaSetDevice(0), "cuda"));
  cudaDeviceProp properties;
  BANYAN_RETURN_IF_ERROR(
      ErrorOf(cudaGetDeviceProperties(&properties, 0), "cuda"));
  BANYAN_RETURN_IF_ERROR(CheckGpuArchitecture(properties.name, properties.major,
                                              properties.minor, versions));
  // And so it is: the driver has code of a kernel for it.
  cudaFuncAttributes attributes;
  BANYAN_RETURN_IF_ERROR(
      ErrorOf(cudaFuncGetAttributes(&attributes, on_nvidia::Run<ProbeKernel>),
              absl::StrCat("cuda: kernels for ", properties.name)));
  BANYAN_ASSIGN_OR_RETURN(const GpuFacts gpu, ReadFacts(properties, versions));
  BANYAN_ASSIGN_OR_RETURN(const cudaMemPool_t pool, OpenPool(gpu.name));
  cudaStream_t stream = nullptr;
  BANYAN_RETURN_IF_ERROR(
      ErrorOf(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
              absl::StrCat(gpu.name, ": a stream")));
  return std::make_shared<NvidiaDevice>(
      CudaDeviceFacts{.name = gpu.name,
                      .memory_bytes = gpu.memory_bytes,
                      .block_shared_bytes =
                          static_cast<int>(properties.sharedMemPerBlockOptin),
                      .gpu = gpu},
      stream, pool);
}

}  // namespace banyan
