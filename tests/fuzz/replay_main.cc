// replay FILE|FOLDER...: does what libFuzzer does with a corpus, where nothing
// is fuzzed: calls the target once with each file. Fails if a file cannot be
// read or a folder has none.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
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
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()),
                         text.size());
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
    std::cout << arguments[i] << ": " << files.size() << " read\n";
    if (files.empty()) return 1;
  }
  return count > 1 ? 0 : 2;
}
