#include "experiments/tools/index/write_synced.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/output_file.h"
#include "core/base/status_macros.h"

namespace banyan {
namespace {

absl::Status SystemError(const std::string& path, int code) {
  return absl::InternalError(
      absl::StrCat(path, ": ", std::generic_category().message(code)));
}

}  // namespace

absl::Status WriteSynced(const std::string& path,
                         absl::Span<const std::byte> bytes) {
  const absl::StatusOr<std::unique_ptr<OutputFile>> file =
      OutputFile::Open(path);
  if (!file.ok()) return absl::InternalError(file.status().message());
  BANYAN_RETURN_IF_ERROR((*file)->Append(bytes));
  return (*file)->Finish();
}

absl::Status SyncFolder(const std::string& folder) {
  const int descriptor =
      open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return SystemError(folder, errno);
  const int code = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  return code == 0 ? absl::OkStatus() : SystemError(folder, code);
}

}  // namespace banyan
