// Model files made up for tests.
#ifndef BANYAN_TESTS_CORE_CHECKPOINT_FILES_H_
#define BANYAN_TESTS_CORE_CHECKPOINT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/common.h"

namespace banyan {

// A new, empty folder, removed with everything in it.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  // Writes, or writes over, the file `name` of the folder; gives its path.
  std::string Write(absl::string_view name, absl::string_view text) const;
  // The same, of the folder's own files.
  std::string Read(absl::string_view name) const;

 private:
  std::string path_;
};

absl::Span<const std::byte> Bytes(absl::string_view text);

// Eight bytes of length, `header`, `data`.
std::string SafetensorsFile(absl::string_view header, absl::string_view data);

struct MadeTensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string data;
};
using MadeTensors = std::map<std::string, MadeTensor>;

// A file of these tensors, one after the other.
std::string SafetensorsFile(const MadeTensors& tensors);

// `numbers` as stored F32.
std::string Stored(const std::vector<float>& numbers);

// A small llama: hidden 4, 2 heads of 2, 1 of keys and values, feed-forward 6,
// 5 tokens, 1 layer, untied.
std::string SmallConfig();
// Its tensors, F32, all numbers different.
MadeTensors SmallTensors();

}  // namespace banyan

#endif  // BANYAN_TESTS_CORE_CHECKPOINT_FILES_H_
