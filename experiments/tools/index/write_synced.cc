#include "experiments/tools/index/write_synced.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace banyan {
namespace {

constexpr int kReadableByAll = 0644;
// The most that one call takes on Linux is less than 2 GiB.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

absl::Status SystemError(const std::string& path, int code) {
  return absl::InternalError(
      absl::StrCat(path, ": ", std::generic_category().message(code)));
}

// 0, or the number of the error.
int WriteAll(int descriptor, absl::Span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        write(descriptor, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    // A file takes something or says why not.
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(descriptor) == 0 ? 0 : errno;
}

}  // namespace

absl::Status WriteSynced(const std::string& path,
                         absl::Span<const std::byte> bytes) {
  const std::string part = absl::StrCat(path, ".part");
  const int descriptor = open(
      part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kReadableByAll);
  if (descriptor < 0) return SystemError(path, errno);
  int code = WriteAll(descriptor, bytes);
  if (close(descriptor) != 0 && code == 0) code = errno;
  if (code == 0 && std::rename(part.c_str(), path.c_str()) != 0) code = errno;
  if (code == 0) return absl::OkStatus();
  std::remove(part.c_str());
  return SystemError(path, code);
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
