// A model written as one packed file (core/pack/pack_file.h).
#ifndef BANYAN_EXPERIMENTS_MAKERS_PACK_MODEL_H_
#define BANYAN_EXPERIMENTS_MAKERS_PACK_MODEL_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/checkpoint.h"

namespace banyan {

struct PackOptions {
  WeightFormat format = WeightFormat::kBf16;
  std::string source = {};  // fingerprint of the model's files
  // Between two of these the disk is asked to take what was written.
  std::int64_t sync_bytes = std::int64_t{1} << 27;
};

struct PackedModel {
  std::int64_t bytes = 0;    // of the file
  std::int64_t resumed = 0;  // of them, written by an earlier run
  // Extents that an earlier run wrote and that were missing or damaged since.
  int packed_again = 0;
  int matrices = 0;
};

// Bytes written, and all of them.
using PackProgress = absl::FunctionRef<void(std::int64_t, std::int64_t)>;

// Writes the model to `path`. The weights' bytes are those that the model has
// in memory when it is loaded in this format. A run that was killed goes on
// where the file was synced last, if model and options are the same.
// InvalidArgument for a model that is packed already or is a drafter's head,
// and before it writes if the disk is too small.
absl::StatusOr<PackedModel> PackModel(const Checkpoint& checkpoint,
                                      const PackOptions& options,
                                      const std::string& path,
                                      PackProgress progress);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_MAKERS_PACK_MODEL_H_
