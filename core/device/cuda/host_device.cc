#include "core/device/cuda/host_device.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/host_block.h"
#include "core/device/cuda/host_memory.h"
#include "core/device/cuda/matrix_product.h"
#include "core/device/cuda/span.h"

namespace banyan {

// One call that was asked for.
struct HostDevice::Work {
  std::string name;
  // Memory of this machine that must still be there, if any.
  const void* pinned = nullptr;
  std::size_t pinned_bytes = 0;
  std::function<absl::Status()> run;
};

struct HostDevice::Graph : CudaGraph {
  std::vector<Work> works;
};

HostDevice::HostDevice(const HostDeviceOptions& options)
    : facts_({.name = "emulated_gpu",
              .memory_bytes = options.memory_bytes,
              .block_shared_bytes = options.block_shared_bytes}),
      block_(options.seed),
      core_(options.core),
      counts_sectors_(options.count_sectors),
      most_launches_(options.launches) {}

HostDevice::~HostDevice() = default;

std::size_t HostDevice::used_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return used_;
}

std::size_t HostDevice::peak_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return peak_;
}

absl::StatusOr<std::size_t> HostDevice::FreeBytes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return facts_.memory_bytes - used_;
}

absl::StatusOr<DeviceSpan> HostDevice::Allocate(std::size_t bytes,
                                                const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (captured_ != nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat(name, ": no memory is allocated while capturing"));
  // What is to be freed may be room enough.
  if (bytes > facts_.memory_bytes - used_) DoAsked();
  if (bytes > facts_.memory_bytes - used_)
    return absl::ResourceExhaustedError(absl::StrCat(
        name, ": ", bytes, " bytes on the device, of which ",
        facts_.memory_bytes - used_, " of ", facts_.memory_bytes, " are free"));
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  auto memory = std::make_unique<HostMemory>(name, bytes);
  const DeviceSpan span = {memory->data(), bytes};
  memories_.emplace(span.data, std::move(memory));
  return span;
}

HostMemory* HostDevice::Find(DeviceSpan span, bool written) {
  const std::lock_guard<std::mutex> lock(mutex_);
  HostMemory* const memory = Holder(span);
  if (written && memory != nullptr) memory->Track();
  return memory;
}

HostMemory* HostDevice::Holder(DeviceSpan span) {
  if (span.bytes == 0) return nullptr;
  auto found = memories_.upper_bound(span.data);
  Check(found != memories_.begin(), "memory of this device");
  HostMemory& memory = *(--found)->second;
  Check(span.data + span.bytes <= memory.data() + memory.bytes(),
        "memory of this device");
  return &memory;
}

void HostDevice::MarkWritten(DeviceSpan span) {
  HostMemory* const memory = Holder(span);
  if (memory != nullptr)
    memory->MarkWritten(static_cast<std::size_t>(span.data - memory->data()),
                        span.bytes);
}

void HostDevice::Ask(Work work) {
  const std::lock_guard<std::mutex> lock(mutex_);
  (captured_ != nullptr ? *captured_ : asked_).push_back(std::move(work));
}

void HostDevice::Free(DeviceSpan span) {
  if (span.data == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (captured_ != nullptr) {
      freed_.push_back(span);
      return;
    }
  }
  Ask({.name = "free", .run = [this, span] {
         used_ -= memories_.at(span.data)->bytes();
         memories_.erase(span.data);
         return absl::OkStatus();
       }});
}

absl::StatusOr<void*> HostDevice::AllocatePinned(std::size_t bytes) {
  std::vector<std::byte> memory(std::max<std::size_t>(1, bytes));
  std::byte* const data = memory.data();
  const std::lock_guard<std::mutex> lock(mutex_);
  pinned_.emplace(data, std::move(memory));
  return data;
}

void HostDevice::FreePinned(void* memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pinned_.erase(static_cast<const std::byte*>(memory));
}

absl::Status HostDevice::CheckPinned(const void* memory,
                                     std::size_t bytes) const {
  const auto* const first = static_cast<const std::byte*>(memory);
  const auto found = pinned_.upper_bound(first);
  if (found != pinned_.begin()) {
    const std::vector<std::byte>& held = std::prev(found)->second;
    if (first + bytes <= held.data() + held.size()) return absl::OkStatus();
  }
  return absl::InternalError(
      absl::StrCat(bytes,
                   " bytes of this machine's memory are not pinned, or "
                   "were freed before the copy was done"));
}

void HostDevice::CopyIn(const void* from, DeviceSpan to) {
  Ask({.name = "copy to the device",
       .pinned = from,
       .pinned_bytes = to.bytes,
       .run = [this, from, to] {
         if (to.bytes > 0) std::memcpy(to.data, from, to.bytes);
         MarkWritten(to);
         return absl::OkStatus();
       }});
}

void HostDevice::CopyOut(DeviceSpan from, void* to) {
  Ask({.name = "copy from the device",
       .pinned = to,
       .pinned_bytes = from.bytes,
       .run = [from, to] {
         if (from.bytes > 0) std::memcpy(to, from.data, from.bytes);
         return absl::OkStatus();
       }});
}

void HostDevice::CopyWithin(DeviceSpan from, DeviceSpan to) {
  Check(from.bytes == to.bytes, "copies are between equal sizes");
  Ask({.name = "copy within the device", .run = [this, from, to] {
         if (to.bytes > 0) std::memcpy(to.data, from.data, from.bytes);
         MarkWritten(to);
         return absl::OkStatus();
       }});
}

void HostDevice::FillZero(DeviceSpan span) {
  Ask({.name = "fill", .run = [this, span] {
         if (span.bytes > 0) std::memset(span.data, 0, span.bytes);
         MarkWritten(span);
         return absl::OkStatus();
       }});
}

namespace {

// y of one product, row by row.
void MultiplyRows(const MatrixProduct& of) {
  const auto* const x = reinterpret_cast<const std::uint16_t*>(of.x.data);
  const auto* const w = reinterpret_cast<const std::uint16_t*>(of.weight.data);
  auto* const y = reinterpret_cast<float*>(of.y.data);
  const auto number = [](std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  };
  for (int i = 0; i < of.rows; ++i)
    for (int j = 0; j < of.outputs; ++j) {
      float sum = 0;
      for (int k = 0; k < of.columns; ++k)
        sum += number(x[i * of.x_stride + k]) *
               number(w[j * of.weight_stride + k]);
      float& to = y[i * of.y_stride + j];
      to = of.add ? to + sum : sum;
    }
}

}  // namespace

void HostDevice::Multiply(const MatrixProduct& product) {
  Ask({.name = "matrix product", .run = [this, product] {
         MultiplyRows(product);
         for (int row = 0; row < product.rows; ++row)
           MarkWritten(product.y.Part(
               static_cast<std::size_t>(row * product.y_stride) * sizeof(float),
               static_cast<std::size_t>(product.outputs) * sizeof(float)));
         return absl::OkStatus();
       }});
}

void HostDevice::Launch(absl::string_view kernel, LaunchShape shape,
                        std::function<void(HostThread&)> run) {
  const std::string name(kernel);
  Ask({.name = name, .run = [this, name, shape, run = std::move(run)] {
         if (shape.blocks < 1 || shape.threads < 32 ||
             shape.threads % 32 != 0 ||
             shape.threads > LaunchShape::kMostThreads ||
             shape.shared_bytes > facts_.block_shared_bytes)
           return absl::InternalError(absl::StrCat(
               "kernel ", name, ": launched as ", shape.blocks, " blocks of ",
               shape.threads, " threads with ", shape.shared_bytes,
               " bytes of shared memory; there are blocks of whole warps, of "
               "at most ",
               LaunchShape::kMostThreads, " threads with ",
               facts_.block_shared_bytes, " bytes"));
         if (most_launches_ >= 0 && launches_ >= most_launches_)
           return absl::InternalError(absl::StrCat(
               facts_.name, ": kernel ", name, ": the device is lost, as was ",
               "asked for after ", most_launches_, " launches"));
         LaunchTraffic traffic = {.launches = 1};
         const HostBlock::Launch launch = {.kernel = name,
                                           .number = ++launches_,
                                           .blocks = shape.blocks,
                                           .threads = shape.threads,
                                           .shared_bytes = shape.shared_bytes,
                                           .early = shape.early,
                                           .core = core_,
                                           .count_sectors = counts_sectors_,
                                           .traffic = &traffic};
         absl::Status status;
         for (int block = 0; block < shape.blocks && status.ok(); ++block)
           status = block_.Run(launch, block, run);
         traffic_[name].Add(traffic);
         return status;
       }});
}

absl::Status HostDevice::Do(const Work& work) {
  if (work.pinned_bytes > 0)
    if (absl::Status status = CheckPinned(work.pinned, work.pinned_bytes);
        !status.ok())
      return absl::InternalError(
          absl::StrCat(work.name, ": ", status.message()));
  return work.run();
}

void HostDevice::DoAsked() {
  for (const Work& work : std::exchange(asked_, {}))
    if (status_.ok() || work.name == "free") {
      absl::Status status = Do(work);
      if (status_.ok()) status_ = std::move(status);
    }
}

absl::Status HostDevice::Finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Check(captured_ == nullptr, "nothing is finished while capturing");
  DoAsked();
  return status_;
}

absl::StatusOr<std::unique_ptr<CudaGraph>> HostDevice::Capture(
    absl::FunctionRef<void()> work) {
  auto graph = std::make_unique<Graph>();
  const auto keep = [this](std::vector<Work>* works) {
    const std::lock_guard<std::mutex> lock(mutex_);
    captured_ = works;
  };
  keep(&graph->works);
  work();
  keep(nullptr);
  for (const DeviceSpan span : std::exchange(freed_, {})) Free(span);
  return graph;
}

void HostDevice::Replay(const CudaGraph& graph) {
  for (const Work& work : static_cast<const Graph&>(graph).works) Ask(work);
}

}  // namespace banyan
