#include "core/checkpoint/tensor_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/crc32.h"
#include "core/base/dtype.h"
#include "core/base/mapped_file.h"
#include "core/base/quoted_name.h"
#include "core/base/status_macros.h"
#include "core/base/weight_format.h"
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
  const absl::Span<const std::byte> bytes = result->file_->bytes();
  if (IsPack(path)) {
    BANYAN_ASSIGN_OR_RETURN(result->pack_, ParsePack(bytes, path));
    BANYAN_RETURN_IF_ERROR(result->AddPacked());
    return result;
  }
  BANYAN_ASSIGN_OR_RETURN(
      result->tensors_,
      IsGguf(path) ? GgufTensors(bytes, path) : ParseSafetensors(bytes, path));
  return result;
}

absl::Status TensorFile::AddPacked() {
  const absl::Span<const std::byte> data =
      file_->bytes().subspan(std::min<std::size_t>(
          static_cast<std::size_t>(pack_->data_begin), file_->bytes().size()));
  for (const auto& [name, tensor] : pack_->tensors)
    tensors_[name] = {.shape = tensor.shape, .turned = tensor.turned};
  for (const PackVector& vector : pack_->vectors) {
    StoredTensor& stored = tensors_[vector.tensor];
    stored.data =
        data.subspan(static_cast<std::size_t>(vector.offset),
                     static_cast<std::size_t>(vector.end() - vector.offset));
    if (Crc32(stored.data) != vector.checksum)
      return Damaged(vector.tensor, pack_->data_begin + vector.offset);
  }
  for (const PackMatrix& matrix : pack_->matrices) {
    int at = 0;
    for (const PackPart& part : matrix.parts) {
      StoredTensor& stored = tensors_[part.tensor];
      stored.dtype =
          matrix.format == WeightFormat::kBf16 ? DType::kBf16 : DType::kF32;
      stored.packed.push_back(
          {part.first, part.rows, &matrix, data.data(), at});
      at += part.rows;
    }
  }
  return absl::OkStatus();
}

absl::Status TensorFile::Damaged(const std::string& name,
                                 std::uint64_t offset) const {
  return absl::DataLossError(absl::StrCat(
      path(), ": tensor ", QuotedName(name), ": the bytes at ", offset,
      " do not have their checksum: the file was damaged"));
}

absl::Status TensorFile::ReadPanels(const PackMatrix& matrix,
                                    absl::Span<std::byte> to) const {
  const absl::Span<const std::byte> file = file_->bytes();
  for (std::size_t extent = 0; extent < matrix.extents(); ++extent) {
    const std::uint64_t offset =
        pack_->data_begin + matrix.ExtentOffset(extent);
    const absl::Span<const std::byte> from = file.subspan(
        static_cast<std::size_t>(offset), matrix.ExtentBytes(extent));
    if (Crc32(from) != matrix.checksums[extent])
      return Damaged(matrix.parts.front().tensor, offset);
    std::copy(from.begin(), from.end(), to.begin());
    to.remove_prefix(from.size());
    file_->Release(from);
  }
  return file_->CheckLength();
}

const StoredTensor* TensorFile::Find(absl::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

void TensorFile::Release(const StoredTensor& tensor) const {
  file_->Release(tensor.data);
  for (const PackedRows& rows : tensor.packed)
    file_->Release(
        {rows.data + rows.matrix->offset,
         static_cast<std::size_t>(rows.matrix->end() - rows.matrix->offset)});
}

}  // namespace banyan
