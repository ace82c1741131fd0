// A copy of a model's directory whose tensors can be changed, to see what is
// said of it.
#ifndef BANYAN_TESTS_SUPPORT_MADE_EDITED_MODEL_H_
#define BANYAN_TESTS_SUPPORT_MADE_EDITED_MODEL_H_

#include <cstdint>
#include <map>
#include <string>

#include "tests/core/checkpoint/files.h"

namespace banyan {

// Failures end the program.
class EditedModel {
 public:
  // Copies `directory`, its golden logits left out.
  explicit EditedModel(const std::string& directory);

  const std::string& path() const { return folder_.path(); }
  const TestFolder& folder() const { return folder_; }
  // By the name of their file; Write(file) puts changes of it on the disk.
  std::map<std::string, MadeTensors>& files() { return files_; }
  void Write(const std::string& file) const;

 private:
  TestFolder folder_;
  std::map<std::string, MadeTensors> files_;
};

// How many numbers a tensor has.
std::int64_t CountOf(const MadeTensor& tensor);

// Number `at` of a tensor of F32, F16 or BF16 becomes `value`, which the type
// holds exactly, or a NaN or infinity of its own.
void SetNumber(MadeTensor& tensor, std::int64_t at, float value);

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MADE_EDITED_MODEL_H_
