#include "experiments/run/fingerprint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/bytes.h"
#include "core/pack/pack_file.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kParts = 1024;
constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

// Reads `count` bytes at a place, or fewer where the file ends.
absl::string_view Read(std::ifstream& file, std::uint64_t at,
                       std::uint64_t count, std::string& buffer) {
  buffer.resize(count);
  file.clear();
  file.seekg(static_cast<std::streamoff>(at));
  file.read(buffer.data(), static_cast<std::streamsize>(count));
  return {buffer.data(), static_cast<std::size_t>(file.gcount())};
}

// Of all bytes.
std::uint64_t NameOfWhole(const fs::path& path, std::uint64_t size) {
  std::ifstream file(path, std::ios::binary);
  std::string buffer;
  std::uint64_t name = kFnv1aStart;
  for (std::uint64_t at = 0; at < size; at += kPiece)
    name = Fnv1a(BytesOf(Read(file, at, kPiece, buffer)), name);
  return name;
}

// Of blocks spread over the file.
std::uint64_t NameOfSample(const fs::path& path, std::uint64_t size) {
  std::ifstream file(path, std::ios::binary);
  std::string buffer;
  std::uint64_t name = kFnv1aStart;
  for (std::uint64_t part = 0; part < kParts; ++part)
    name = Fnv1a(BytesOf(Read(file, (size - kBlock) / (kParts - 1) * part,
                              kBlock, buffer)),
                 name);
  return name;
}

// The shards of a corpus index, which may be larger than memory, have sums of
// their own (drafters/text/corpus_index.h): a look at them is enough beside
// index.json.
bool IsOfAnIndex(const fs::path& path, std::uint64_t size) {
  std::error_code error;
  const std::string ending = path.extension().string();
  return size > kParts * kBlock &&
         (ending == ".tokens" || ending == ".suffixes") &&
         fs::exists(path.parent_path() / "index.json", error);
}

// What a folder holds beside what is read from it.
bool IsBeside(const fs::path& path) {
  const std::string ending = path.extension().string();
  return path.filename().string().front() == '.' || ending == ".md" ||
         ending == ".txt" || ending == ".banyan" || ending == ".partial";
}

// Of a packed model its header, which has the checksums of the rest.
std::uint64_t NameOfFile(const fs::path& path, std::uint64_t size) {
  if (IsPack(path.string()))
    if (const auto header = ReadPackHeader(path.string()); header.ok())
      return Fnv1a(PackPreamble(*header));
  return IsOfAnIndex(path, size) ? NameOfSample(path, size)
                                 : NameOfWhole(path, size);
}

// The file at a path, or those in a folder.
std::vector<fs::path> PathsAt(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> paths;
  if (!fs::is_directory(path, error))
    paths.emplace_back(path);
  else
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
      if (!IsBeside(entry.path())) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  // Without pipes and devices: reading one would wait for a writer.
  paths.erase(std::remove_if(paths.begin(), paths.end(),
                             [](const fs::path& each) {
                               std::error_code ignored;
                               return !fs::is_regular_file(each, ignored);
                             }),
              paths.end());
  return paths;
}

// How `now` differs; empty if it does not.
absl::string_view Difference(const FileState& before, const FileState& now) {
  if (!now.IsSameFile(before)) return "replaced";
  if (now.bytes != before.bytes) return "of another size";
  if (now.written != before.written) return "written";
  if (now.changed != before.changed) return "written, or renamed";
  return "";
}

}  // namespace

std::vector<records::File> FilesAt(const std::string& path) {
  std::error_code error;
  std::vector<records::File> files;
  for (const fs::path& each : PathsAt(path)) {
    const std::uint64_t size = fs::file_size(each, error);
    records::File& file = files.emplace_back();
    file.set_path(each.lexically_normal().string());
    file.set_fingerprint(absl::StrCat(size, " ", NameOfFile(each, size)));
  }
  return files;
}

FileStates StatesAt(const std::string& path) {
  FileStates states;
  for (const fs::path& each : PathsAt(path))
    if (const auto state = FileStateAt(each.string()); state.has_value())
      states[each.lexically_normal().string()] = *state;
  return states;
}

absl::Status CheckUnchanged(const std::string& path, const FileStates& before) {
  const FileStates now = StatesAt(path);
  const auto changed = [](const std::string& file, absl::string_view what) {
    return absl::FailedPreconditionError(absl::StrCat(
        file, ": expected the file as it was when the run began, found it ",
        what, " since"));
  };
  for (const auto& [file, state] : before) {
    const auto found = now.find(file);
    if (found == now.end()) return changed(file, "removed");
    const absl::string_view what = Difference(state, found->second);
    if (!what.empty()) return changed(file, what);
  }
  for (const auto& [file, state] : now)
    if (before.count(file) == 0) return changed(file, "added");
  return absl::OkStatus();
}

std::string WeightsFingerprint(absl::Span<const records::File> files) {
  std::string all;
  for (const records::File& file : files) {
    const fs::path path(file.path());
    if (IsPack(file.path()))
      if (const auto header = ReadPackHeader(file.path()); header.ok())
        return header->source;
    if (path.extension() == ".safetensors" || path.extension() == ".gguf" ||
        path.filename() == "index.json")
      absl::StrAppend(&all, path.filename().string(), " ", file.fingerprint(),
                      "\n");
  }
  return all.empty() ? "" : absl::StrFormat("%016x", Fnv1a(all));
}

}  // namespace banyan
