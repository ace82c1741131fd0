// The tensors of a checkpoint, in one safetensors file or in several.
#ifndef BANYAN_CORE_CHECKPOINT_CHECKPOINT_FILES_H_
#define BANYAN_CORE_CHECKPOINT_CHECKPOINT_FILES_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/checkpoint/packed_data.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"

namespace banyan {

// Any number of threads may use one at once.
class CheckpointFiles {
 public:
  struct Place {
    const TensorFile* file = nullptr;
    const StoredTensor* tensor = nullptr;
  };

  // Opens a GGUF file, a packed model or, of a directory, model.safetensors or,
  // if there is none, the shards that model.safetensors.index.json names, and
  // reads their headers. NotFound if neither is there; InvalidArgument for an
  // index that names a file outside the directory, a file that is not there, or
  // a tensor that its file lacks.
  static absl::StatusOr<CheckpointFiles> Open(const std::string& directory);

  // Null if there is no such tensor; lives as long as this object.
  const Place* Find(absl::string_view name) const;
  // Every tensor of the files that were opened, those among them that the index
  // does not name.
  std::set<std::string> TensorNames() const;
  // Of a packed model; null for another.
  const PackedData* packed() const {
    return files_.empty() ? nullptr : files_.front()->packed();
  }
  // A sentence for each file that was not read though it might have been.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  absl::Status AddFile(const std::string& path);
  absl::Status AddShards(const std::string& directory,
                         const std::string& index_path);
  // `open`: the shards so far, by name.
  absl::Status AddTensor(const std::string& directory, const std::string& name,
                         const std::string& shard,
                         std::map<std::string, const TensorFile*>& open);

  std::vector<std::unique_ptr<TensorFile>> files_;
  std::map<std::string, Place, std::less<>> places_;
  std::vector<std::string> warnings_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_CHECKPOINT_FILES_H_
