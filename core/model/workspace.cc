#include "core/model/workspace.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/device/buffer.h"
#include "core/ops/backend.h"
#include "core/ops/tensor.h"

namespace banyan {

absl::StatusOr<Tensor> Workspace::Matrix(Place place, int rows, int columns) {
  const auto stride = static_cast<std::size_t>(PadToLane(columns));
  BANYAN_ASSIGN_OR_RETURN(
      Buffer * buffer,
      Room(place, static_cast<std::size_t>(rows) * stride * sizeof(float)));
  return Tensor{buffer, 0, rows, columns, stride};
}

absl::StatusOr<Ints> Workspace::List(Place place,
                                     const std::vector<int>& values) {
  const absl::Span<const std::byte> bytes(
      reinterpret_cast<const std::byte*>(values.data()),
      values.size() * sizeof(int));
  BANYAN_ASSIGN_OR_RETURN(Buffer * buffer, Room(place, bytes.size()));
  BANYAN_RETURN_IF_ERROR(backend_.Upload(bytes, *buffer, 0));
  return Ints{buffer, 0, static_cast<int>(values.size())};
}

absl::StatusOr<Buffer*> Workspace::Room(Place place, std::size_t bytes) {
  std::unique_ptr<Buffer>& buffer = buffers_[place];
  if (buffer == nullptr || buffer->bytes() < bytes) {
    BANYAN_ASSIGN_OR_RETURN(buffer, backend_.Allocate(bytes));
  }
  return buffer.get();
}

std::unique_ptr<Workspace> Workspaces::Take(Backend& backend) {
  const std::lock_guard<std::mutex> lock(turn_);
  if (free_.empty()) return std::make_unique<Workspace>(backend);
  std::unique_ptr<Workspace> workspace = std::move(free_.back());
  free_.pop_back();
  return workspace;
}

void Workspaces::Return(std::unique_ptr<Workspace> workspace) {
  const std::lock_guard<std::mutex> lock(turn_);
  free_.push_back(std::move(workspace));
}

}  // namespace banyan
