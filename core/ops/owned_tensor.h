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
#include "core/ops/backend.h"
#include "core/ops/tensor.h"

namespace banyan {

struct OwnedTensor {
  std::unique_ptr<Buffer> buffer;
  Tensor view;

  static absl::StatusOr<OwnedTensor> New(int rows, int columns,
                                         Backend& backend);
  // Rows of `view.columns` numbers, one after the other.
  absl::Status Upload(absl::Span<const float> rows, Backend& backend);
  absl::Status Download(std::vector<float>& rows, Backend& backend) const;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_OWNED_TENSOR_H_
