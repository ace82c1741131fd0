#include "core/device/cuda/nvidia_needs.h"

#include <string>

#include "core/base/common.h"

namespace banyan {

std::string CudaVersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

absl::Status CheckCudaDriver(const CudaVersions& versions) {
  const int major = versions.runtime / 1000;
  if (versions.driver == 0)
    return absl::FailedPreconditionError(
        absl::StrCat("cuda: this machine has no driver of an NVIDIA GPU; one "
                     "for CUDA ",
                     major, " or later is needed"));
  if (versions.driver / 1000 < major)
    return absl::FailedPreconditionError(absl::StrCat(
        "cuda: the driver is for CUDA ", CudaVersionText(versions.driver),
        " at most and this program was built with ",
        CudaVersionText(versions.runtime), ", which needs a driver for ", major,
        ".0 or later"));
  return absl::OkStatus();
}

absl::Status CheckGpuCount(int gpus, const char* visible,
                           absl::string_view error) {
  if (gpus > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "cuda: the driver shows no GPU",
      error.empty() ? "" : absl::StrCat(" (", error, ")"),
      visible == nullptr
          ? ""
          : absl::StrCat("; CUDA_VISIBLE_DEVICES leaves those it names, '",
                         visible, "'")));
}

// cmake/nvcc_options.txt names what there is code for: 8.0, whose code later
// ones of 8 run; 9.0a, which only 9.0 runs; and the text for 9.0, which drivers
// translate for what is later, unless a newer CUDA than theirs has written it.
absl::Status CheckGpuArchitecture(absl::string_view gpu, int major, int minor,
                                  const CudaVersions& versions) {
  if (major == 8 || (major == 9 && minor == 0)) return absl::OkStatus();
  const std::string found = absl::StrCat(
      "cuda: ", gpu, " is of compute capability ", major, ".", minor);
  if (major < 8)
    return absl::FailedPreconditionError(
        absl::StrCat(found, ", and this program has code for 8.0 and later"));
  if (versions.driver < versions.runtime)
    return absl::FailedPreconditionError(absl::StrCat(
        found, ", for which the driver would translate what CUDA ",
        CudaVersionText(versions.runtime), " has written, but it is for ",
        CudaVersionText(versions.driver),
        " at most; this program has code as it is for 8.x and 9.0"));
  return absl::OkStatus();
}

}  // namespace banyan
