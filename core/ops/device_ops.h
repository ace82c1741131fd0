// DeviceOps has whole-tensor operations on opaque buffers. The header of an
// op's arguments states its contract; ReferenceBackend is the reference
// implementation.
#ifndef BANYAN_CORE_OPS_DEVICE_OPS_H_
#define BANYAN_CORE_OPS_DEVICE_OPS_H_

#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"

namespace banyan {

// Law() and Best(): the distribution and the best tokens of a row of logits,
// without giving the whole row to the caller.
//
// A vocabulary of 128,000 is a megabyte of doubles; ten candidates, or what a
// truncating rule leaves, are a few hundred bytes.

// One row of logits, a number per token. Tokens from `used` on only pad the
// vocabulary: their logits count as -infinity, whatever stands there. Of those
// before, one that is NaN or infinite came of a sum that overflowed: reading
// the row then fails as CheckFinite (core/prob/sampling_rule.h).
struct LogitRow {
  Tensor row;
  int used;
};

// What SamplingRule::Apply makes of the row, as doubles, after `history` and
// `path`; it fails where that does. The same to the last bit on every device.
struct LawArgs {
  LogitRow logits;
  const SamplingRule* rule;
  absl::Span<const TokenId> history;
  absl::Span<const TokenId> path;
};

// What BestLogits (core/prob/sampling_rule.h) gives of the row, exactly.
// Requires k >= 1.
struct BestArgs {
  LogitRow logits;
  int k;
};

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

  // Unless overridden one op after the other.
  virtual absl::Status RotateStore(const RotateStoreArgs& args);

  virtual absl::StatusOr<Distribution> Law(const LawArgs& args) = 0;
  virtual absl::StatusOr<std::vector<TokenLogit>> Best(
      const BestArgs& args) = 0;
};

// Does the op that makes the rows of a product, if there is one, and the one
// that follows it.
absl::Status MakeRows(DeviceOps& ops, const LinearInput& source);
absl::Status DoNext(DeviceOps& ops, const LinearOutput& then);

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_DEVICE_OPS_H_
