// OwnedTensor: rows of numbers with their memory.
#ifndef BANYAN_CORE_OPS_OWNED_TENSOR_H_
#define BANYAN_CORE_OPS_OWNED_TENSOR_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/device/buffer.h"
#include "core/ops/device_memory.h"
#include "core/ops/tensor.h"

namespace banyan {

struct OwnedTensor {
  std::unique_ptr<Buffer> buffer;
  Tensor view;

  static absl::StatusOr<OwnedTensor> New(int rows, int columns,
                                         DeviceMemory& memory);
  // Rows of `view.columns` numbers, one after the other.
  absl::Status Upload(absl::Span<const float> rows, DeviceMemory& memory);
  absl::Status Download(std::vector<float>& rows, DeviceMemory& memory) const;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_OWNED_TENSOR_H_
