#include "experiments/tools/grow/output_folder.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace banyan {

namespace fs = std::filesystem;

OutputFolder::OutputFolder(std::string path, bool made)
    : path_(std::move(path)), made_(made) {}

absl::StatusOr<std::unique_ptr<OutputFolder>> OutputFolder::Make(
    const std::string& path) {
  std::error_code error;
  const bool made = fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the folder cannot be made",
                     error ? absl::StrCat(": ", error.message()) : ""));
  auto folder = absl::WrapUnique(new OutputFolder(path, made));
  const bool empty = fs::is_empty(path, error);
  if (error || !empty)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected an empty folder, or none"));
  return folder;
}

absl::Status OutputFolder::RequireSpace(std::int64_t bytes) const {
  std::error_code error;
  const fs::space_info space = fs::space(path_, error);
  if (error || space.available >= static_cast<std::uintmax_t>(bytes))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s: %.1f MB are to be written, the disk has %.1f MB free", path_,
      static_cast<double>(bytes) / 1e6,
      static_cast<double>(space.available) / 1e6));
}

OutputFolder::~OutputFolder() {
  if (kept_) return;
  std::error_code ignored;
  for (const std::string& file : files_) fs::remove(file, ignored);
  if (made_) fs::remove(path_, ignored);
}

std::string OutputFolder::File(absl::string_view name) {
  files_.push_back(absl::StrCat(path_, "/", name));
  return files_.back();
}

absl::Status OutputFolder::Write(absl::string_view name,
                                 absl::string_view text) {
  const std::string path = File(name);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(path, ": the file could not be written"));
}

absl::Status OutputFolder::CopyIfThere(const std::string& from,
                                       absl::string_view name) {
  const fs::path old = fs::path(from) / std::string(name);
  std::error_code error;
  if (!fs::is_regular_file(old, error)) return absl::OkStatus();
  const std::string path = File(name);
  fs::copy_file(old, path, error);
  if (!error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(path, ": ", error.message()));
}

}  // namespace banyan
