// Weights of a CudaBackend: tiles for its kernels, or rows for a library.
#ifndef BANYAN_CORE_OPS_CUDA_CUDA_WEIGHT_H_
#define BANYAN_CORE_OPS_CUDA_CUDA_WEIGHT_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/device/buffer.h"
#include "core/device/cuda/device.h"
#include "core/device/cuda/span.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/weight.h"

namespace banyan {

class CudaWeight : public Weight {
 public:
  CudaWeight(DeviceWeight weight, std::unique_ptr<Buffer> numbers,
             std::unique_ptr<Buffer> scales)
      : weight_(weight),
        numbers_(std::move(numbers)),
        scales_(std::move(scales)) {}

  WeightFormat format() const override { return weight_.format; }
  int rows() const override { return weight_.rows; }
  int columns() const override { return weight_.columns; }
  std::size_t bytes() const override {
    return weight_.numbers.bytes + weight_.scales.bytes;
  }
  const DeviceWeight& on_device() const { return weight_; }
  // What on_device() points to; the scales are null but of kQ8.
  const Buffer* numbers() const { return numbers_.get(); }
  const Buffer* scales() const { return scales_.get(); }

 private:
  const DeviceWeight weight_;
  const std::unique_ptr<Buffer> numbers_;
  const std::unique_ptr<Buffer> scales_;
};

inline DeviceWeight WeightOf(const Weight& weight) {
  return static_cast<const CudaWeight&>(weight).on_device();
}

// Has read `from` when it returns.
using CopyToDevice = absl::FunctionRef<absl::Status(
    absl::Span<const std::byte> from, DeviceSpan to)>;

// In its format (DeviceWeight).
absl::StatusOr<std::unique_ptr<Weight>> PackTiles(
    const std::shared_ptr<CudaDevice>& device, WeightFormat format, int rows,
    int columns, RowPairs pairs, WeightRows source, CopyToDevice copy);
// As bfloat16s, rounded as this machine's backends round.
absl::StatusOr<std::unique_ptr<Weight>> PackRows(
    const std::shared_ptr<CudaDevice>& device, WeightFormat format, int rows,
    int columns, WeightRows source, CopyToDevice copy);

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_CUDA_WEIGHT_H_
