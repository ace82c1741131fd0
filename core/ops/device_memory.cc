#include "core/ops/device_memory.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/check.h"

namespace banyan {

namespace {

std::ptrdiff_t At(int row, std::size_t stride) {
  return static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * stride);
}

}  // namespace

absl::StatusOr<OwnedTensor> OwnedTensor::New(int rows, int columns,
                                             DeviceMemory& memory) {
  const auto stride = static_cast<std::size_t>(PadToLane(columns));
  OwnedTensor tensor;
  BANYAN_ASSIGN_OR_RETURN(
      tensor.buffer,
      memory.Allocate(static_cast<std::size_t>(rows) * stride * sizeof(float)));
  tensor.view = {tensor.buffer.get(), 0, rows, columns, stride};
  return tensor;
}

absl::Status OwnedTensor::Upload(absl::Span<const float> rows,
                                 DeviceMemory& memory) {
  const auto columns = static_cast<std::size_t>(view.columns);
  Check(rows.size() == static_cast<std::size_t>(view.rows) * columns,
        "rows that fill the tensor");
  std::vector<float> padded(static_cast<std::size_t>(view.rows) * view.stride);
  for (int row = 0; row < view.rows; ++row)
    std::copy_n(rows.begin() + At(row, columns), columns,
                padded.begin() + At(row, view.stride));
  return memory.Upload(AsBytes(padded), *buffer, 0);
}

absl::Status OwnedTensor::Download(std::vector<float>& rows,
                                   DeviceMemory& memory) const {
  const auto columns = static_cast<std::size_t>(view.columns);
  std::vector<float> padded(static_cast<std::size_t>(view.rows) * view.stride);
  BANYAN_RETURN_IF_ERROR(memory.Download(*buffer, 0, AsBytes(padded)));
  rows.resize(static_cast<std::size_t>(view.rows) * columns);
  for (int row = 0; row < view.rows; ++row)
    std::copy_n(padded.begin() + At(row, view.stride), columns,
                rows.begin() + At(row, columns));
  return absl::OkStatus();
}

}  // namespace banyan
