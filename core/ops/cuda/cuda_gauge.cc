#include "core/ops/cuda/cuda_gauge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"
#include "core/ops/backend.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan {
namespace {

// A measurement takes at least this long.
constexpr std::int64_t kLeastNs = 4'000'000;
constexpr std::int64_t kMostLaunches = 1 << 16;  // a clock may stand still

class CudaGauge : public Gauge {
 public:
  CudaGauge(std::shared_ptr<CudaDevice> device, const OpKernels& kernels,
            const CudaGaugeOptions& options, const Clock& clock)
      : device_(std::move(device)),
        kernels_(kernels),
        options_(options),
        clock_(clock) {}
  ~CudaGauge() override {
    device_->Free(numbers_);
    device_->Free(odd_);
  }

  absl::Status Begin() {
    const std::size_t bytes =
        std::max<std::size_t>(options_.bytes / 16 * 16, 16);
    BANYAN_ASSIGN_OR_RETURN(numbers_, device_->Allocate(bytes, "the gauge"));
    BANYAN_ASSIGN_OR_RETURN(odd_, device_->Allocate(4, "the gauge"));
    device_->FillZero(numbers_);
    return device_->Finish();
  }

  absl::StatusOr<double> ReadBandwidth() override {
    const ReadAllLaunch launch = {
        .numbers = numbers_, .odd = odd_, .blocks = options_.blocks};
    return Measure(static_cast<double>(numbers_.bytes),
                   [&] { kernels_.read_all(*device_, launch); });
  }
  absl::StatusOr<double> Peak(WeightFormat format) override {
    const MultiplyAllLaunch launch = {.format = format,
                                      .odd = odd_,
                                      .blocks = options_.blocks,
                                      .rounds = options_.rounds};
    return Measure(kernels_.multiply_all_operations(launch),
                   [&] { kernels_.multiply_all(*device_, launch); });
  }

 private:
  // `amount` a launch, a second, of launches that are done: twice as many until
  // they take long enough, so that asking for them does not count.
  absl::StatusOr<double> Measure(double amount,
                                 absl::FunctionRef<void()> launch) {
    launch();  // kernels are loaded when they are first asked for
    for (std::int64_t launches = 1;; launches *= 2) {
      BANYAN_RETURN_IF_ERROR(device_->Finish());
      const std::int64_t start = clock_.NowNs();
      for (std::int64_t i = 0; i < launches; ++i) launch();
      BANYAN_RETURN_IF_ERROR(device_->Finish());
      const std::int64_t taken = clock_.NowNs() - start;
      if (taken >= kLeastNs || launches >= kMostLaunches)
        return amount * static_cast<double>(launches) /
               static_cast<double>(taken) * 1e9;
    }
  }

  const std::shared_ptr<CudaDevice> device_;
  const OpKernels& kernels_;
  const CudaGaugeOptions options_;
  const Clock& clock_;
  DeviceSpan numbers_;
  DeviceSpan odd_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Gauge>> NewCudaGauge(
    std::shared_ptr<CudaDevice> device, const OpKernels& kernels,
    const CudaGaugeOptions& options, const Clock& clock) {
  auto gauge =
      std::make_unique<CudaGauge>(std::move(device), kernels, options, clock);
  BANYAN_RETURN_IF_ERROR(gauge->Begin());
  return gauge;
}

}  // namespace banyan
