#include "core/ops/devices.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/nearest.h"
#include "core/base/status_macros.h"
#include "core/device/cuda/host_device.h"
#include "core/device/cuda/nvidia_device.h"
#include "core/ops/backend.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/cuda/cuda_backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/reference/reference_backend.h"

namespace banyan {
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
