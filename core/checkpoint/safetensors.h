// A safetensors file, mapped into memory and never written.
//
// The file: eight bytes, the little-endian length of the header; the header, a
// JSON object that gives each tensor's `dtype`, `shape` and `data_offsets`;
// then the tensors' bytes. Opening reads the header only. Refused are: a header
// longer than the file or than 100,000,000 bytes, a repeated name or field, an
// unknown dtype or field, offsets that disagree with the shape, holes,
// overlaps, and bytes that belong to no tensor. The file's writer chooses
// where the bytes begin, so that no tensor is aligned: copy, do not cast.
#ifndef BANYAN_CORE_CHECKPOINT_SAFETENSORS_H_
#define BANYAN_CORE_CHECKPOINT_SAFETENSORS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/mapped_file.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {

using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

// The tensors of a whole file that lies in memory; their data points into
// `file`. An error is InvalidArgument, "FILE_NAME: tensor 'x': what is wrong".
absl::StatusOr<StoredTensors> ParseSafetensors(absl::Span<const std::byte> file,
                                               const std::string& file_name);

// Any number of threads may use one at once. The file must not be changed or
// cut short while it is open: the system then ends the program.
class Safetensors {
 public:
  // NotFound if there is no such file; InvalidArgument if it cannot be read,
  // or as ParseSafetensors says.
  static absl::StatusOr<std::unique_ptr<Safetensors>> Open(
      const std::string& path);

  const std::string& path() const { return file_->path(); }
  // By name, in order. The data lives as long as this object.
  const StoredTensors& tensors() const { return tensors_; }
  // Null if there is no tensor of that name.
  const StoredTensor* Find(absl::string_view name) const;

  // Gives the memory that holds `tensor`, one of this file's, back to the
  // system, as far as no other tensor shares its pages. The data stays valid:
  // it is read from the file again.
  void Release(const StoredTensor& tensor) const;

 private:
  explicit Safetensors(std::unique_ptr<MappedFile> file)
      : file_(std::move(file)) {}

  std::unique_ptr<MappedFile> file_;
  StoredTensors tensors_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_SAFETENSORS_H_
