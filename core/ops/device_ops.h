// DeviceOps has whole-tensor operations on opaque buffers. The header of an
// op's arguments states its contract; ReferenceBackend is the reference
// implementation.
#ifndef BANYAN_CORE_OPS_DEVICE_OPS_H_
#define BANYAN_CORE_OPS_DEVICE_OPS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/ops/activate.h"
#include "core/ops/attention.h"
#include "core/ops/attention_mass.h"
#include "core/ops/copy.h"
#include "core/ops/embed.h"
#include "core/ops/kv_cache.h"
#include "core/ops/linear.h"
#include "core/ops/norm.h"
#include "core/ops/read_row.h"
#include "core/ops/rotate.h"
#include "core/prob/distribution.h"
#include "core/prob/logits.h"

namespace banyan {

// Rows: a row's result depends on that row alone, unless the backend's facts
// say that it is not faithful (DeviceOptions::fast). The result is
// bit-identical whatever rows are beside it, wherever the rows lie in memory,
// for any number of threads and whatever ran before. Each backend chooses the
// order of its sums and states it beside its kernels, so two backends may round
// differently.
//
// NaN and infinity propagate: if a number that a row is computed from is NaN or
// infinite, or a sum leaves the range of a float, some number of the row is NaN
// or infinite too (a nonlinearity may saturate: silu(-1e30) is 0). So the fault
// reaches the logits, and reading them fails. If one row of a tree is not
// finite, the other rows of the tree are not promised to be.
//
// DeviceMemory says when work is done, and what may run concurrently. Buffers,
// weights and caches belong to the backend that made them and may outlive it.
class DeviceOps {
 public:
  virtual ~DeviceOps() = default;

  virtual absl::Status Embed(const EmbedArgs& args) = 0;
  virtual absl::Status Norm(const NormArgs& args) = 0;
  virtual absl::Status Linear(const LinearArgs& args) = 0;
  virtual absl::Status Rotate(const RotateArgs& args) = 0;
  virtual absl::Status Activate(const ActivateArgs& args) = 0;
  virtual absl::Status Copy(const CopyArgs& args) = 0;
  // Makes room for `slots` slots, keeping what the first `used` hold.
  virtual absl::Status ReserveKv(KvCache& cache, int slots, int used) = 0;
  // StoreKv and Attention serve several sequences at once, each with caches of
  // its own.
  virtual absl::Status StoreKv(absl::Span<const StoreKvArgs> sequences) = 0;
  virtual absl::Status MoveKv(const MoveKvArgs& args) = 0;
  virtual absl::Status Attention(absl::Span<const AttentionArgs> sequences) = 0;
  virtual absl::Status AttentionMass(const AttentionMassArgs& args) = 0;

  // Turns queries and keys, then stores keys and values: unless overridden one
  // after the other. Keys need not be written but in the cache.
  virtual absl::Status RotateStore(const RotateArgs& queries,
                                   const RotateArgs& keys,
                                   absl::Span<const StoreKvArgs> sequences);

  virtual absl::StatusOr<Distribution> Law(const LawArgs& args) = 0;
  virtual absl::StatusOr<std::vector<TokenLogit>> Best(
      const BestArgs& args) = 0;
};

// Does the op that makes the rows of a product, if there is one.
absl::Status MakeRows(DeviceOps& ops, const LinearInput& source);

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_DEVICE_OPS_H_
