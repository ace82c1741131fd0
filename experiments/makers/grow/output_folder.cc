#include "experiments/makers/grow/output_folder.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"

namespace banyan {

namespace fs = std::filesystem;

namespace {

constexpr char kUnfinished[] = "unfinished";

}  // namespace

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
  const bool usable =
      fs::is_empty(path, error) ||
      fs::exists(absl::StrCat(path, "/", kUnfinished, ".partial"), error);
  if (error || !usable)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected an empty folder, or none"));
  const absl::Status begun = folder->Begin();
  if (!begun.ok())
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": expected an empty folder that nothing else fills: ",
        begun.message()));
  return folder;
}

absl::Status OutputFolder::Begin() {
  BANYAN_ASSIGN_OR_RETURN(
      unfinished_, OutputFile::Open(absl::StrCat(path_, "/", kUnfinished)));
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error))
    if (entry.path().stem() != kUnfinished && entry.is_regular_file(error))
      fs::remove(entry.path(), error);
  return absl::OkStatus();
}

void OutputFolder::Keep() {
  kept_ = true;
  unfinished_.reset();
}

absl::Status RequireSpace(const std::string& path, const std::string& folder,
                          std::int64_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= static_cast<std::uintmax_t>(bytes))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s: %.1f MB are to be written, the disk has %.1f MB free", path,
      static_cast<double>(bytes) / 1e6,
      static_cast<double>(space.available) / 1e6));
}

absl::Status OutputFolder::RequireSpace(std::int64_t bytes) const {
  return banyan::RequireSpace(path_, path_, bytes);
}

OutputFolder::~OutputFolder() {
  if (kept_) return;
  unfinished_.reset();
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
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                          OutputFile::Open(File(name)));
  BANYAN_RETURN_IF_ERROR(file->Append(text));
  return file->Finish();
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
