// A file that a target writes for a reader that opens files itself.
#ifndef BANYAN_TESTS_FUZZ_SCRATCH_FILE_H_
#define BANYAN_TESTS_FUZZ_SCRATCH_FILE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace banyan {

// Is there, in the folder for temporary files, as long as this object is. This
// process has one of an ending at a time.
class ScratchFile {
 public:
  // Its name ends in `ending`. Ends the program if it cannot be written.
  ScratchFile(absl::string_view ending, absl::string_view bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_FUZZ_SCRATCH_FILE_H_
