#include "core/checkpoint/checkpoint_files.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/quoted_name.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/checkpoint/tensor_file.h"
#include "core/gguf/model_text.h"

namespace banyan {
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
