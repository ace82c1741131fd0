// Workspace: buffers for the numbers of one pass, used again by the next.
#ifndef BANYAN_CORE_TRANSFORMER_WORKSPACE_H_
#define BANYAN_CORE_TRANSFORMER_WORKSPACE_H_

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/device/buffer.h"
#include "core/ops/device_memory.h"
#include "core/ops/tensor.h"

namespace banyan {

class Workspace {
 public:
  enum Place {
    kStream,     // the residual stream
    kBeside,     // embeddings and vectors side by side (VectorInput)
    kNormed,     // what a matrix reads
    kProjected,  // queries, keys and values; gate and up
    kAttended,
    kActivated,  // of all ranks
    kAngles,
    kIds,
    kPositions,
    kVisible,
    kLogits,
    kPlaces,
  };

  explicit Workspace(DeviceMemory& memory) : memory_(memory) {}

  // A matrix in `place`; what it held is lost.
  absl::StatusOr<Tensor> Matrix(Place place, int rows, int columns);
  absl::StatusOr<Ints> List(Place place, const std::vector<int>& values);
  // A matrix for the hidden states that are kept beside those in `places`, one
  // for each number, 0 and up.
  absl::StatusOr<Tensor> Kept(std::size_t number, int rows, int columns);

  // Of all its buffers.
  std::size_t bytes() const { return bytes_; }

 private:
  absl::StatusOr<Tensor> MatrixIn(std::unique_ptr<Buffer>& buffer, int rows,
                                  int columns);
  // Replaces `buffer` unless it has at least `bytes` bytes.
  absl::Status MakeRoom(std::unique_ptr<Buffer>& buffer, std::size_t bytes);

  DeviceMemory& memory_;
  std::array<std::unique_ptr<Buffer>, kPlaces> buffers_;
  std::vector<std::unique_ptr<Buffer>> kept_;
  std::size_t bytes_ = 0;
};

// Workspaces that nobody uses at the moment. Safe for concurrent use.
class Workspaces {
 public:
  std::unique_ptr<Workspace> Take(DeviceMemory& memory);
  void Return(std::unique_ptr<Workspace> workspace);

  // Of those that nobody uses at the moment.
  std::size_t bytes() const;

 private:
  mutable std::mutex turn_;
  std::vector<std::unique_ptr<Workspace>> free_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_WORKSPACE_H_
