// Files of tensors: one, or those of a checkpoint together.
#ifndef BANYAN_CORE_CHECKPOINT_TENSOR_FILE_H_
#define BANYAN_CORE_CHECKPOINT_TENSOR_FILE_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/input_files.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {

// A file of tensors, mapped into memory and never written.

// Any number of threads may use one at once. The file must not be changed while
// it is open. StoredTensor::CheckWhole() tells whether it was cut short.
class TensorFile {
 public:
  // Safetensors, or by the path's ending GGUF, whose tensors stand under the
  // names of the family's own checkpoints, or a packed model, of which vectors
  // are checked against their checksums. NotFound if there is no such file;
  // InvalidArgument if it cannot be read, or as ParseSafetensors, ParseGguf
  // (core/gguf/gguf_file.h) and ParsePack say.
  static absl::StatusOr<std::unique_ptr<TensorFile>> Open(
      const std::string& path);

  const std::string& path() const { return file_->path(); }
  // By name, in order. The data lives as long as this object.
  const StoredTensors& tensors() const { return tensors_; }
  // Null if there is no tensor of that name.
  const StoredTensor* Find(absl::string_view name) const;
  // The matrices of a packed model, null for another file.
  const PackedData* packed() const { return packed_.get(); }

  // Gives the memory that holds `tensor`, one of this file's, back to the
  // system, as far as no other tensor shares its pages. The data stays valid:
  // it is read from the file again.
  void Release(const StoredTensor& tensor) const;

 private:
  explicit TensorFile(std::unique_ptr<MappedFile> file)
      : file_(std::move(file)) {}

  absl::Status ReadHeader();
  // Of a packed model.
  absl::Status AddPacked();

  std::unique_ptr<MappedFile> file_;
  std::unique_ptr<PackedData> packed_;
  StoredTensors tensors_;
};

// The tensors of a checkpoint, in one safetensors file or in several.

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

#endif  // BANYAN_CORE_CHECKPOINT_TENSOR_FILE_H_
