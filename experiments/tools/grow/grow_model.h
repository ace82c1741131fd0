// A checkpoint grown to a larger size: the same function at a larger cost.
#ifndef BANYAN_EXPERIMENTS_TOOLS_GROW_GROW_MODEL_H_
#define BANYAN_EXPERIMENTS_TOOLS_GROW_GROW_MODEL_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/checkpoint/checkpoint.h"
#include "experiments/tools/grow/model_size.h"
#include "experiments/tools/grow/output_folder.h"
#include "experiments/tools/grow/write_tensors.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TOOLS_GROW_GROW_MODEL_H_
