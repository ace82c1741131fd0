// A model's files written anew as a Hugging Face directory.
#ifndef BANYAN_EXPERIMENTS_MAKERS_CONVERT_MODEL_H_
#define BANYAN_EXPERIMENTS_MAKERS_CONVERT_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/checkpoint.h"
#include "experiments/makers/grow/output_folder.h"

namespace banyan {

struct ConvertedModel {
  std::string source_format;  // Architecture::source_format
  std::int64_t tensors = 0;
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;
};

// Bytes written, and all of them.
using ConvertProgress = absl::FunctionRef<void(std::int64_t, std::int64_t)>;

// Writes config.json, the tokenizer's files and model.safetensors. Tensors keep
// their type, blocks become F32; with `matrices`, kF32 or kBf16, every matrix
// gets that type, rounded to the nearest. Fails as Checkpoint::ReadRows and
// OutputFolder do, and before it writes if the disk is too small.
absl::StatusOr<ConvertedModel> ConvertModel(const Checkpoint& checkpoint,
                                            std::optional<DType> matrices,
                                            OutputFolder& folder,
                                            ConvertProgress progress);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MAKERS_CONVERT_MODEL_H_
