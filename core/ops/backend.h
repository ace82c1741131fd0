// Backend: whole-tensor operations on opaque buffers. A model is written once
// against it. Each op's contract stands in the header of its arguments;
// ReferenceBackend is its readable twin.
#ifndef BANYAN_CORE_OPS_BACKEND_H_
#define BANYAN_CORE_OPS_BACKEND_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/device/buffer.h"
#include "core/ops/activate.h"
#include "core/ops/attention.h"
#include "core/ops/embed.h"
#include "core/ops/kv_cache.h"
#include "core/ops/linear.h"
#include "core/ops/norm.h"
#include "core/ops/rotate.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"

namespace banyan {

// Ops are enqueued in the order of the calls; Download waits for them. A result
// does not depend on the thread count, nor one row's on the other rows. Safe
// for concurrent use on different buffers. Buffers, weights and caches belong
// to the backend that made them and may outlive it.
class Backend {
 public:
  virtual ~Backend() = default;

  // What it is, for people and records: "cpu AVX2, 2 threads".
  virtual std::string description() const = 0;

  // Zeroed memory.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Allocate(
      std::size_t bytes) = 0;
  virtual absl::Status Upload(absl::Span<const std::byte> from, Buffer& to,
                              std::size_t offset) = 0;
  virtual absl::Status Download(const Buffer& from, std::size_t offset,
                                absl::Span<std::byte> to) = 0;

  // Packs a matrix, asking for its rows once each, in order.
  virtual absl::StatusOr<std::unique_ptr<Weight>> Pack(WeightFormat format,
                                                       int rows, int columns,
                                                       WeightRows source) = 0;
  // Makes room for `slots` slots, keeping what the first `used` hold.
  virtual absl::Status GrowKv(KvCache& cache, int slots, int used) = 0;

  virtual absl::Status Embed(const EmbedArgs& args) = 0;
  virtual absl::Status Norm(const NormArgs& args) = 0;
  virtual absl::Status Linear(const LinearArgs& args) = 0;
  virtual absl::Status Rotate(const RotateArgs& args) = 0;
  virtual absl::Status Activate(const ActivateArgs& args) = 0;
  virtual absl::Status StoreKv(const StoreKvArgs& args) = 0;
  virtual absl::Status CopyKv(const CopyKvArgs& args) = 0;
  virtual absl::Status Attention(const AttentionArgs& args) = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_BACKEND_H_
