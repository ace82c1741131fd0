#include "core/checkpoint/tensor_file.h"

#include <cstddef>
#include <filesystem>
#include <system_error>

#include "core/base/messages.h"
#include "core/base/number_rows.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/safetensors.h"
#include "core/gguf/gguf_file.h"
#include "core/gguf/model_text.h"
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

namespace {

constexpr char kSingleFile[] = "model.safetensors";
constexpr char kIndexFile[] = "model.safetensors.index.json";
// The largest published index has some ten megabytes.
constexpr std::size_t kMaxIndexBytes = std::size_t{1} << 28;

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// A shard lies beside its index: its name leads nowhere else.
bool IsPlainName(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(absl::string_view("/\\\0", 3)) ==
             absl::string_view::npos;
}

}  // namespace

absl::StatusOr<CheckpointFiles> CheckpointFiles::Open(
    const std::string& directory) {
  CheckpointFiles result;
  if (IsModelFile(directory)) {
    BANYAN_RETURN_IF_ERROR(result.AddFile(directory));
    return result;
  }
  const std::string single = absl::StrCat(directory, "/", kSingleFile);
  const std::string index = absl::StrCat(directory, "/", kIndexFile);
  const bool has_index = Exists(index);
  if (Exists(single)) {
    BANYAN_RETURN_IF_ERROR(result.AddFile(single));
    if (has_index)
      result.warnings_.push_back(
          absl::StrCat(index, " is passed over: ", kSingleFile, " is there"));
    return result;
  }
  if (!has_index)
    return absl::NotFoundError(absl::StrCat(directory, ": expected ",
                                            kSingleFile, " or ", kIndexFile));
  BANYAN_RETURN_IF_ERROR(result.AddShards(directory, index));
  return result;
}

absl::Status CheckpointFiles::AddFile(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<TensorFile> file,
                          TensorFile::Open(path));
  for (const auto& [name, tensor] : file->tensors())
    places_[name] = {file.get(), &tensor};
  files_.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status CheckpointFiles::AddShards(const std::string& directory,
                                        const std::string& index_path) {
  BANYAN_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(index_path, kMaxIndexBytes));
  BANYAN_ASSIGN_OR_RETURN(ConfigReader in,
                          ConfigReader::Parse(text, index_path));
  if (!in.Has("weight_map")) in.Unexpected("weight_map", "an object of texts");
  const std::map<std::string, std::string> shards = in.TextMap("weight_map");
  BANYAN_RETURN_IF_ERROR(in.status());
  std::map<std::string, const TensorFile*> open;
  for (const auto& [name, shard] : shards) {
    const absl::Status added = AddTensor(directory, name, shard, open);
    if (added.ok()) continue;
    in.Fail("weight_map",
            absl::StrCat(QuotedName(name), ": ", added.message()));
    return in.status();
  }
  return absl::OkStatus();
}

absl::Status CheckpointFiles::AddTensor(
    const std::string& directory, const std::string& name,
    const std::string& shard, std::map<std::string, const TensorFile*>& open) {
  if (!IsPlainName(shard))
    return absl::InvalidArgumentError(
        absl::StrCat("expected the name of a file beside this one, found ",
                     QuotedName(shard)));
  const TensorFile*& file = open[shard];
  if (file == nullptr) {
    BANYAN_ASSIGN_OR_RETURN(
        std::unique_ptr<TensorFile> opened,
        TensorFile::Open(absl::StrCat(directory, "/", shard)));
    file = opened.get();
    files_.push_back(std::move(opened));
  }
  const StoredTensor* tensor = file->Find(name);
  if (tensor == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat(file->path(), " has no such tensor"));
  places_[name] = {file, tensor};
  return absl::OkStatus();
}

std::set<std::string> CheckpointFiles::TensorNames() const {
  std::set<std::string> names;
  for (const std::unique_ptr<TensorFile>& file : files_)
    for (const auto& [name, tensor] : file->tensors()) names.insert(name);
  return names;
}

const CheckpointFiles::Place* CheckpointFiles::Find(
    absl::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &found->second;
}

}  // namespace banyan
