// Grows a checkpoint, and heads with it: the same function at a larger cost.
#ifndef BANYAN_EXPERIMENTS_MAKERS_GROW_GROW_MODEL_H_
#define BANYAN_EXPERIMENTS_MAKERS_GROW_GROW_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/checkpoint/checkpoint.h"
#include "drafters/catalogue.h"
#include "drafters/head_tools.h"
#include "experiments/makers/grow/model_size.h"
#include "experiments/makers/grow/output_folder.h"
#include "experiments/makers/grow/tensor_plan.h"

namespace banyan {

// Grown tensors into files, a block of rows at a time.
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

// A checkpoint grown to a larger size: the same function at a larger cost.

// Called with the bytes written so far, and all.
using GrowProgress = absl::FunctionRef<void(std::int64_t, std::int64_t)>;

struct GrownModel {
  ModelSize before, after;
  std::int64_t parameters_before = 0;  // numbers stored
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;
};

// Writes to `folder` the weights that tensor_plan.h describes, copies of the
// tokenizer's files, of generation_config.json and of a draft vocabulary, and
// config.json with the new sizes, `grown_from` and `inert_layers`
// (docs/formats.md). `size` comes from ResolveSize. Fails as OutputFolder and
// SafetensorsWriter do.
absl::StatusOr<GrownModel> GrowModel(const Checkpoint& checkpoint,
                                     const ModelSize& size,
                                     const WriteOptions& options,
                                     OutputFolder& folder,
                                     GrowProgress progress);

// The last part of a directory's path, however it is spelt.
std::string BaseName(const std::string& directory);

// Heads grown with their target: the same proposals from the larger hidden
// state. Whose heads they are and how their tensors follow the target, the
// drafters say (drafters/head_tools.h, which also says why nothing
// changes).
struct HeadsGrowth {
  GrowingTarget target;
  // Whose heads they may be.
  absl::Span<const DrafterRow> drafters = DrafterCatalogue();
};

struct GrownHeads {
  std::string summary;          // of the heads, for people
  std::vector<HeadFact> facts;  // and for programs
  bool like_target = false;     // their cost grew with the target's
  std::int64_t bytes = 0;
};

// Reads `from`/config.json and the heads, and writes to `folder` config.json,
// made new as the heads say, with `grown_from`, model.safetensors, and a copy
// of the heads' draft vocabulary if they have one. If no drafter reads the
// heads, the error says what each one expected. Fails as OutputFolder and
// SafetensorsWriter do.
absl::StatusOr<GrownHeads> GrowHeads(const std::string& from,
                                     const HeadsGrowth& growth,
                                     const WriteOptions& options,
                                     OutputFolder& folder);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MAKERS_GROW_GROW_MODEL_H_
