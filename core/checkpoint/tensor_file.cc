#include "core/checkpoint/tensor_file.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/dtype.h"
#include "core/base/mapped_file.h"
#include "core/base/quoted_name.h"
#include "core/base/status_macros.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/packed_data.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/gguf/gguf_config.h"
#include "core/gguf/gguf_file.h"
#include "core/pack/pack_file.h"

namespace banyan {

namespace {

absl::StatusOr<StoredTensors> GgufTensors(absl::Span<const std::byte> file,
                                          const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const Gguf contents, ParseGguf(file, path));
  StoredTensors tensors;
  for (const auto& [name, tensor] : contents.tensors) {
    if (name == kRopeFactors) continue;  // GgufConfig reads them
    GgufPlace place = PlaceOf(contents, name);
    StoredTensor stored = {.dtype = tensor.dtype,
                           .shape = tensor.shape,
                           .data = tensor.data,
                           .name_in_file = name,
                           .paired_rows = place.paired_rows,
                           .turned = place.turned};
    if (stored.turned && stored.shape.size() == 2)
      std::swap(stored.shape[0], stored.shape[1]);
    if (!tensors.emplace(place.name, std::move(stored)).second)
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": tensor ", QuotedName(name),
                       " stands for the same as another"));
  }
  return tensors;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TensorFile>> TensorFile::Open(
    const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file,
                          MappedFile::Open(path));
  std::unique_ptr<TensorFile> result(new TensorFile(std::move(file)));
  const absl::Status read = result->ReadHeader();
  BANYAN_RETURN_IF_ERROR(result->file_->CheckLength());
  BANYAN_RETURN_IF_ERROR(read);
  for (auto& [name, tensor] : result->tensors_)
    tensor.file = result->file_.get();
  return result;
}

absl::Status TensorFile::ReadHeader() {
  const absl::Span<const std::byte> bytes = file_->bytes();
  if (IsPack(path())) {
    BANYAN_ASSIGN_OR_RETURN(PackHeader header, ParsePack(bytes, path()));
    packed_ = std::make_unique<PackedData>(std::move(header), *file_);
    return AddPacked();
  }
  BANYAN_ASSIGN_OR_RETURN(tensors_, IsGguf(path())
                                        ? GgufTensors(bytes, path())
                                        : ParseSafetensors(bytes, path()));
  return absl::OkStatus();
}

absl::Status TensorFile::AddPacked() {
  const PackHeader& header = packed_->header();
  for (const auto& [name, tensor] : header.tensors)
    tensors_[name] = {.shape = tensor.shape, .turned = tensor.turned};
  for (const PackVector& vector : header.vectors) {
    BANYAN_ASSIGN_OR_RETURN(tensors_[vector.tensor].data,
                            packed_->Vector(vector));
  }
  for (const PackMatrix& matrix : header.matrices) {
    int at = 0;
    for (const PackPart& part : matrix.parts) {
      StoredTensor& stored = tensors_[part.tensor];
      stored.dtype =
          matrix.format == WeightFormat::kBf16 ? DType::kBf16 : DType::kF32;
      stored.packed.push_back(
          {part.first, part.rows, &matrix, packed_.get(), at});
      at += part.rows;
    }
  }
  return absl::OkStatus();
}

const StoredTensor* TensorFile::Find(absl::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

void TensorFile::Release(const StoredTensor& tensor) const {
  file_->Release(tensor.data);
  for (const PackedRows& rows : tensor.packed) packed_->Release(*rows.matrix);
}

}  // namespace banyan
