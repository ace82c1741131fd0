// Grown tensors into files, a block of rows at a time.
#ifndef BANYAN_EXPERIMENTS_TOOLS_GROW_WRITE_TENSORS_H_
#define BANYAN_EXPERIMENTS_TOOLS_GROW_WRITE_TENSORS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "experiments/tools/grow/output_folder.h"
#include "experiments/tools/grow/tensor_plan.h"

namespace banyan {

struct WriteOptions {
  std::uint64_t seed = 0;
  // Of one file; a larger model has several, with an index. As published
  // checkpoints are cut.
  std::int64_t shard_bytes = 4'000'000'000;
};

// What the tensors take in their files, headers not counted.
std::int64_t TotalBytes(absl::Span<const GrownTensor> tensors);

// How many numbers they are.
std::int64_t TotalNumbers(absl::Span<const GrownTensor> tensors);

// Writes model.safetensors, or the shards and model.safetensors.index.json.
// `done` is called after each tensor. Fails as SafetensorsWriter does.
absl::Status WriteTensors(const std::vector<GrownTensor>& tensors,
                          const WriteOptions& options, OutputFolder& folder,
                          absl::FunctionRef<void(const GrownTensor&)> done);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TOOLS_GROW_WRITE_TENSORS_H_
