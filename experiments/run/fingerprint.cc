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
#include "core/base/fnv1a.h"

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

}  // namespace

std::string Fingerprint(const std::string& directory) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(directory, error))
    // Of a pipe there is nothing to read but what somebody writes.
    if ((entry.path().extension() == ".safetensors" ||
         entry.path().filename() == "index.json") &&
        entry.is_regular_file(error))
      files.push_back(entry.path());
  if (files.empty()) return "";
  std::sort(files.begin(), files.end());
  std::string all;
  for (const fs::path& file : files) {
    const std::uint64_t size = fs::file_size(file, error);
    absl::StrAppend(&all, file.filename().string(), " ", size, " ",
                    Fnv1a(Sample(file, size)), "\n");
  }
  return absl::StrFormat("%016x", Fnv1a(all));
}

}  // namespace banyan
