#include "core/ops/devices.h"

#include <utility>

#include "core/base/clock.h"
#include "core/base/messages.h"
#include "core/base/weight_format.h"
#include "core/device/buffer.h"
#include "core/device/cuda/host_device.h"
#include "core/device/cuda/nvidia_device.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/reference/reference_backend.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

namespace {

class OutlineBuffer : public Buffer {
 public:
  explicit OutlineBuffer(std::size_t bytes) : bytes_(bytes) {}
  std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t bytes_;
};

class OutlineWeight : public Weight {
 public:
  OutlineWeight(WeightFormat format, int rows, int columns)
      : format_(format), rows_(rows), columns_(columns) {}
  WeightFormat format() const override { return format_; }
  int rows() const override { return rows_; }
  int columns() const override { return columns_; }
  std::size_t bytes() const override {
    return PackedBytes(format_, rows_, columns_);
  }

 private:
  WeightFormat format_;
  int rows_;
  int columns_;
};

absl::Status Nothing() {
  return absl::FailedPreconditionError(
      "the model was opened without its weights");
}

class OutlineBackend : public Backend {
 public:
  OutlineBackend(std::shared_ptr<Backend> device, std::size_t* in_memory)
      : device_(std::move(device)), in_memory_(in_memory) {}

  BackendFacts facts() const override {
    BackendFacts facts = device_->facts();
    facts.computes = false;
    return facts;
  }
  std::string description() const override { return device_->description(); }
  absl::Status Finish() override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<Gauge>> NewGauge(std::size_t bytes,
                                                  const Clock& clock) override {
    return device_->NewGauge(bytes, clock);
  }
  absl::Status CheckRoom(std::size_t bytes, absl::string_view what) override {
    return device_->CheckRoom(bytes, what);
  }
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(std::size_t bytes) override {
    return std::make_unique<OutlineBuffer>(bytes);
  }
  absl::Status Upload(absl::Span<const std::byte>, Buffer&,
                      std::size_t) override {
    return absl::OkStatus();
  }
  absl::Status Download(const Buffer&, std::size_t,
                        absl::Span<std::byte>) override {
    return Nothing();
  }
  absl::StatusOr<std::unique_ptr<Weight>> Pack(WeightFormat format, int rows,
                                               int columns,
                                               WeightRows) override {
    return InMemory(format, rows, columns);
  }
  absl::StatusOr<std::unique_ptr<Weight>> Adopt(WeightFormat format, int rows,
                                                int columns,
                                                PanelSource) override {
    return InMemory(format, rows, columns);
  }
  absl::StatusOr<std::unique_ptr<Weight>> Stream(WeightFormat format, int rows,
                                                 int columns,
                                                 StreamedPanels) override {
    return std::make_unique<OutlineWeight>(format, rows, columns);
  }
  absl::StatusOr<std::unique_ptr<Weight>> Part(const Weight& whole, int,
                                               int count) override {
    return std::make_unique<OutlineWeight>(whole.format(), count,
                                           whole.columns());
  }
  absl::Status ReserveKv(KvCache&, int, int) override { return Nothing(); }
  absl::Status Embed(const EmbedArgs&) override { return Nothing(); }
  absl::Status Norm(const NormArgs&) override { return Nothing(); }
  absl::Status Linear(const LinearArgs&) override { return Nothing(); }
  absl::Status Rotate(const RotateArgs&) override { return Nothing(); }
  absl::Status Activate(const ActivateArgs&) override { return Nothing(); }
  absl::Status Copy(const CopyArgs&) override { return Nothing(); }
  absl::Status StoreKv(absl::Span<const StoreKvArgs>) override {
    return Nothing();
  }
  absl::Status MoveKv(const MoveKvArgs&) override { return Nothing(); }
  absl::Status Attention(absl::Span<const AttentionArgs>) override {
    return Nothing();
  }
  absl::Status AttentionMass(const AttentionMassArgs&) override {
    return Nothing();
  }
  absl::StatusOr<Distribution> Law(const LawArgs&) override {
    return Nothing();
  }
  absl::StatusOr<std::vector<TokenLogit>> Best(const BestArgs&) override {
    return Nothing();
  }

 private:
  std::unique_ptr<Weight> InMemory(WeightFormat format, int rows, int columns) {
    auto weight = std::make_unique<OutlineWeight>(format, rows, columns);
    if (in_memory_ != nullptr) *in_memory_ += weight->bytes();
    return weight;
  }

  std::shared_ptr<Backend> device_;
  std::size_t* in_memory_;  // null: nobody wants to know
};

}  // namespace

std::shared_ptr<Backend> OutlineOf(std::shared_ptr<Backend> device,
                                   std::size_t* in_memory) {
  return std::make_shared<OutlineBackend>(std::move(device), in_memory);
}

namespace {

constexpr char kEmulatedGpu[] = "emulated_gpu";
// What it was called before.
constexpr char kEmulatedGpuOnce[] = "host";

std::vector<std::string> NoInstructionSets() { return {}; }

absl::StatusOr<std::shared_ptr<Backend>> OpenCpu(const DeviceOptions& options) {
  return CpuBackend::Create(
      {.threads = options.threads, .instruction_set = options.instruction_set});
}

absl::StatusOr<std::shared_ptr<Backend>> OpenReference(
    const DeviceOptions& /*options*/) {
  return std::make_shared<ReferenceBackend>();
}

absl::StatusOr<std::shared_ptr<Backend>> OpenHost(
    const DeviceOptions& /*options*/) {
  return CudaBackend::Create(std::make_shared<HostDevice>(HostDeviceOptions()),
                             on_host::kOpKernels, kEmulatedGpu);
}

absl::StatusOr<std::shared_ptr<Backend>> OpenCuda(
    [[maybe_unused]] const DeviceOptions& options) {
#ifdef BANYAN_CUDA
  BANYAN_ASSIGN_OR_RETURN(std::shared_ptr<CudaDevice> device,
                          OpenNvidiaDevice());
  return CudaBackend::Create(std::move(device), on_nvidia::kOpKernels, "cuda",
                             options.fast);
#else
  return absl::FailedPreconditionError(
      "cuda: this program was built without the CUDA Toolkit: there was no "
      "nvcc of CUDA 12 or later, or BANYAN_CUDA was off");
#endif
}

constexpr DeviceRow kDevices[] = {
    {"cpu", "this machine's processor, with its vector instructions",
     /*takes_threads=*/true, /*takes_fast=*/false, CpuBackend::InstructionSets,
     OpenCpu},
    {"reference",
     "plain loops with sums in double, one thread: what the others are checked "
     "against; slow",
     /*takes_threads=*/false, /*takes_fast=*/false, NoInstructionSets,
     OpenReference},
    {kEmulatedGpu,
     "the kernels of GPUs, run by this machine's processor one thread after "
     "another, every access checked; very slow",
     /*takes_threads=*/false, /*takes_fast=*/false, NoInstructionSets,
     OpenHost},
    {"cuda",
     "an NVIDIA GPU, the first that the driver shows; CUDA_VISIBLE_DEVICES=N "
     "shows it the one of that number",
     /*takes_threads=*/false, /*takes_fast=*/true, NoInstructionSets, OpenCuda},
};

}  // namespace

absl::Span<const DeviceRow> DeviceTable() { return kDevices; }

absl::StatusOr<std::shared_ptr<Backend>> OpenDevice(
    absl::string_view name, const DeviceOptions& options) {
  if (name == kEmulatedGpuOnce) name = kEmulatedGpu;
  std::vector<absl::string_view> known;
  for (const DeviceRow& row : DeviceTable()) {
    known.push_back(row.name);
    if (row.name != name) continue;
    if (options.threads != 0 && !row.takes_threads)
      return absl::InvalidArgumentError(
          absl::StrCat("threads: the device ", name,
                       " takes no number of them, found ", options.threads));
    if (!options.instruction_set.empty() && row.instruction_sets().empty())
      return absl::InvalidArgumentError(absl::StrCat(
          "instruction set: the device ", name,
          " has no choice of them, found \"", options.instruction_set, "\""));
    if (options.fast && !row.takes_fast)
      return absl::InvalidArgumentError(
          absl::StrCat("fast: the device ", name,
                       " has no other library that multiplies; cuda has"));
    return row.open(options);
  }
  return absl::InvalidArgumentError(UnknownName("device", name, known));
}

}  // namespace banyan
