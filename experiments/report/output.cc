#include "experiments/report/output.h"

#include <fstream>
#include <functional>
#include <iostream>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace banyan {

absl::Status WriteOutput(
    const std::string& path,
    const std::function<absl::Status(std::ostream&)>& write) {
  if (path.empty()) return write(std::cout);
  std::ofstream file(path, std::ios::binary);
  if (!file)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the file cannot be written"));
  const absl::Status written = write(file);
  file.close();
  if (!file)
    return absl::InternalError(
        absl::StrCat(path, ": the file could not be written to its end"));
  return written;
}

}  // namespace banyan
