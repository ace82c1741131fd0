#include "core/transformer/workspace.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/device/buffer.h"
#include "core/ops/device_memory.h"
#include "core/ops/tensor.h"

namespace banyan {

absl::StatusOr<Tensor> Workspace::Matrix(Place place, int rows, int columns) {
  return MatrixIn(buffers_[place], rows, columns);
}

absl::StatusOr<Tensor> Workspace::Kept(std::size_t number, int rows,
                                       int columns) {
  if (kept_.size() <= number) kept_.resize(number + 1);
  return MatrixIn(kept_[number], rows, columns);
}

absl::StatusOr<Tensor> Workspace::MatrixIn(std::unique_ptr<Buffer>& buffer,
                                           int rows, int columns) {
  const auto stride = static_cast<std::size_t>(PadToLane(columns));
  BANYAN_RETURN_IF_ERROR(MakeRoom(
      buffer, static_cast<std::size_t>(rows) * stride * sizeof(float)));
  return Tensor{buffer.get(), 0, rows, columns, stride};
}

absl::StatusOr<Ints> Workspace::List(Place place,
                                     const std::vector<int>& values) {
  const absl::Span<const std::byte> bytes(
      reinterpret_cast<const std::byte*>(values.data()),
      values.size() * sizeof(int));
  std::unique_ptr<Buffer>& buffer = buffers_[place];
  BANYAN_RETURN_IF_ERROR(MakeRoom(buffer, bytes.size()));
  BANYAN_RETURN_IF_ERROR(memory_.Upload(bytes, *buffer, 0));
  return Ints{buffer.get(), 0, static_cast<int>(values.size())};
}

absl::Status Workspace::MakeRoom(std::unique_ptr<Buffer>& buffer,
                                 std::size_t bytes) {
  const std::size_t before = buffer == nullptr ? 0 : buffer->bytes();
  if (before >= bytes && buffer != nullptr) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(buffer, memory_.Allocate(bytes));
  bytes_ += buffer->bytes() - before;
  return absl::OkStatus();
}

std::unique_ptr<Workspace> Workspaces::Take(DeviceMemory& memory) {
  const std::lock_guard<std::mutex> lock(turn_);
  if (free_.empty()) return std::make_unique<Workspace>(memory);
  std::unique_ptr<Workspace> workspace = std::move(free_.back());
  free_.pop_back();
  return workspace;
}

void Workspaces::Return(std::unique_ptr<Workspace> workspace) {
  const std::lock_guard<std::mutex> lock(turn_);
  free_.push_back(std::move(workspace));
}

std::size_t Workspaces::bytes() const {
  const std::lock_guard<std::mutex> lock(turn_);
  std::size_t bytes = 0;
  for (const std::unique_ptr<Workspace>& workspace : free_)
    bytes += workspace->bytes();
  return bytes;
}

}  // namespace banyan
