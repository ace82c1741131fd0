// replay FILE|FOLDER...: does what libFuzzer does with a corpus, where nothing
// is fuzzed: calls the target once with each file. Fails if a file cannot be
// read or a folder has none.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FilesOf(const char* named) {
  std::error_code error;
  if (!fs::is_directory(named, error)) return {named};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(named, error))
    files.push_back(entry.path());
  return files;
}

bool Replay(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) return false;
  // No byte comes after it, so that a sanitizer sees a read past the end.
  const std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[text.size()]);
  std::copy(text.begin(), text.end(), bytes.get());
  LLVMFuzzerTestOneInput(bytes.get(), text.size());
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const std::vector<fs::path> files = FilesOf(arguments[i]);
    for (const fs::path& file : files)
      if (!Replay(file)) {
        std::cerr << file.string() << ": cannot be read\n";
        return 1;
      }
    if (files.empty()) {
      std::cerr << arguments[i] << ": no files\n";
      return 1;
    }
    std::cout << arguments[i] << ": " << files.size() << " read\n";
  }
  return count > 1 ? 0 : 2;
}
