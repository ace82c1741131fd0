// A file of tensors, mapped into memory and never written.
#ifndef BANYAN_CORE_CHECKPOINT_TENSOR_FILE_H_
#define BANYAN_CORE_CHECKPOINT_TENSOR_FILE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/mapped_file.h"
#include "core/checkpoint/packed_data.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_TENSOR_FILE_H_
