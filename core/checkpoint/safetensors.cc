#include "core/checkpoint/safetensors.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/mapped_file.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Safetensors>> Safetensors::Open(
    const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file,
                          MappedFile::Open(path));
  std::unique_ptr<Safetensors> result(new Safetensors(std::move(file)));
  BANYAN_ASSIGN_OR_RETURN(result->tensors_,
                          ParseSafetensors(result->file_->bytes(), path));
  return result;
}

const StoredTensor* Safetensors::Find(absl::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

void Safetensors::Release(const StoredTensor& tensor) const {
  file_->Release(tensor.data);
}

}  // namespace banyan
