// Whether the launches of an op are set up while the launch before still runs.
#ifndef BANYAN_CORE_OPS_CUDA_EARLY_LAUNCHES_H_
#define BANYAN_CORE_OPS_CUDA_EARLY_LAUNCHES_H_

#include <cstdlib>

#include "absl/strings/string_view.h"
#include "core/device/cuda/device.h"

namespace banyan {

// Launches of few rows are set up early while it lives: those of many took
// longer so (docs/devices.md).
class EarlyLaunches {
 public:
  EarlyLaunches(CudaDevice& device, int rows)
      : device_(device), before_(device.early()) {
    device_.StartEarly(rows <= kMostRows && MayStart());
  }
  // An op that calls another one goes on as it began.
  ~EarlyLaunches() { device_.StartEarly(before_); }
  EarlyLaunches(const EarlyLaunches&) = delete;
  EarlyLaunches& operator=(const EarlyLaunches&) = delete;

 private:
  static constexpr int kMostRows = 16;
  // With BANYAN_EARLY_LAUNCHES=0 in the environment none is.
  static bool MayStart() {
    static const bool may = [] {
      const char* const said = std::getenv("BANYAN_EARLY_LAUNCHES");
      return said == nullptr || absl::string_view(said) != "0";
    }();
    return may;
  }

  CudaDevice& device_;
  const bool before_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_EARLY_LAUNCHES_H_
