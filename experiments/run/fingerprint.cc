#include "experiments/run/fingerprint.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "core/base/fnv1a.h"
#include "experiments/records/record.pb.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kWhole = std::uint64_t{1} << 24;
constexpr std::uint64_t kParts = 1024;
constexpr std::uint64_t kBlock = 4096;

std::string Sample(const fs::path& path, std::uint64_t size) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  const auto read = [&](std::uint64_t at, std::uint64_t count) {
    std::string block(count, '\0');
    file.seekg(static_cast<std::streamoff>(at));
    file.read(block.data(), static_cast<std::streamsize>(count));
    bytes += block;
  };
  if (size <= kWhole) {
    read(0, size);
  } else {
    for (std::uint64_t part = 0; part < kParts; ++part)
      read((size - kBlock) / (kParts - 1) * part, kBlock);
  }
  return bytes;
}

// What a folder holds beside what is read from it.
bool IsBeside(const fs::path& path) {
  const std::string ending = path.extension().string();
  return path.filename().string().front() == '.' || ending == ".md" ||
         ending == ".txt" || ending == ".banyan" || ending == ".partial";
}

}  // namespace

std::vector<records::File> FilesAt(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> paths;
  if (!fs::is_directory(path, error))
    paths.emplace_back(path);
  else
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
      if (!IsBeside(entry.path())) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<records::File> files;
  for (const fs::path& each : paths) {
    // Of a pipe there is nothing to read but what somebody writes.
    if (!fs::is_regular_file(each, error)) continue;
    const std::uint64_t size = fs::file_size(each, error);
    records::File& file = files.emplace_back();
    file.set_path(each.lexically_normal().string());
    file.set_fingerprint(absl::StrCat(size, " ", Fnv1a(Sample(each, size))));
  }
  return files;
}

std::string WeightsFingerprint(absl::Span<const records::File> files) {
  std::string all;
  for (const records::File& file : files) {
    const fs::path path(file.path());
    if (path.extension() == ".safetensors" || path.filename() == "index.json")
      absl::StrAppend(&all, path.filename().string(), " ", file.fingerprint(),
                      "\n");
  }
  return all.empty() ? "" : absl::StrFormat("%016x", Fnv1a(all));
}

}  // namespace banyan
