#include "tests/fuzz/scratch_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/check.h"
#include "core/base/common.h"

namespace banyan {

ScratchFile::ScratchFile(absl::string_view ending, absl::string_view bytes)
    : path_((std::filesystem::temp_directory_path() /
             absl::StrCat("corpus-", getpid(), ending))
                .string()) {
  std::ofstream file(path_, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  Check(file.good(), "the folder for temporary files has room for one");
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace banyan
