// ModelSplit: which part of every layer each rank computes (core/device/ranks).
//
// Matrices are split by their outputs only. Query, key and value matrices go by
// whole groups of heads that share keys, of which a rank may have none; the
// others by panels of rows. So every number is one sum over a full row, taken
// on one rank exactly as a single process takes it, and all bits are a single
// process's. Four gathers per layer make rows whole again: of attention's
// output, of the stream after it, of the activations, and of the stream.
#ifndef BANYAN_CORE_TRANSFORMER_MODEL_SPLIT_H_
#define BANYAN_CORE_TRANSFORMER_MODEL_SPLIT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/checkpoint/architecture.h"
#include "core/device/ranks/communicator.h"
#include "core/ops/device_memory.h"
#include "core/ops/op_args.h"

namespace banyan {

// A stretch of rows or columns.
struct Stretch {
  int first = 0;
  int count = 0;
};

// Columns that the ranks share out, each rank a stretch, in the order of ranks.
class Partition {
 public:
  // `size` in whole units, the last of which may be short, as evenly as they
  // go.
  Partition(int size, int unit, int ranks);

  int size() const { return ends_.back(); }
  Stretch of(int rank) const;
  // Each column becomes `times` columns.
  Partition Widened(int times) const;

 private:
  std::vector<int> ends_;  // by rank
};

// For one thread.
class ModelSplit {
 public:
  // Without ranks one process has everything, and Gather does nothing.
  ModelSplit(const Architecture& architecture,
             std::shared_ptr<Communicator> ranks);

  bool whole() const { return ranks_ == nullptr; }
  Communicator* ranks() const { return ranks_.get(); }

  // Of key heads, and of columns: queries, the stream, the feed-forward block.
  const Partition& key_heads() const { return key_heads_; }
  const Partition& queries() const { return queries_; }
  const Partition& hidden() const { return hidden_; }
  const Partition& inner() const { return inner_; }
  // The split of N logits.
  Partition Logits(int rows) const;
  // This rank's.
  Stretch mine(const Partition& parts) const { return parts.of(rank_); }
  int heads() const { return mine(key_heads_).count * group_; }
  int kv_heads() const { return mine(key_heads_).count; }

  // Fills the columns of `rows` that other ranks have computed. The first
  // gather after Note compares what was noted: fails if ranks differ in it.
  absl::Status Gather(const Tensor& rows, const Partition& parts,
                      DeviceMemory& memory);
  // Extends the rows of AttentionMass, one per key head of this rank, by those
  // of the other ranks.
  absl::Status GatherMasses(std::vector<float>& masses, std::size_t chunks);
  // Notes numbers that every rank must have decided alike: tokens, paths.
  void Note(absl::Span<const int> numbers);

 private:
  absl::Status Exchange(absl::Span<const std::size_t> sizes);

  std::shared_ptr<Communicator> ranks_;  // null: one process alone
  int rank_ = 0;
  int count_ = 1;
  int group_;  // query heads of a key head
  Partition key_heads_, queries_, hidden_, inner_;
  bool noted_ = false;
  std::uint64_t note_ = kFnv1aStart;
  std::vector<std::byte> mine_;  // to be gathered
  std::vector<std::byte> all_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TRANSFORMER_MODEL_SPLIT_H_
