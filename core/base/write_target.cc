#include "core/base/write_target.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOfNewFiles = 0666;  // less what the process masks
constexpr mode_t kPermissions = 07777;
// As many as the system itself follows.
constexpr int kMostLinks = 40;

// Where the links at `path` lead, to a file that need not be there.
absl::StatusOr<std::string> EndOfLinks(const std::string& path) {
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    if (fs::symlink_status(target, error).type() != fs::file_type::symlink)
      return target.string();
    const fs::path next = fs::read_symlink(target, error);
    if (error) return CannotWrite(path, error.value());
    target = target.parent_path() / next;  // an absolute one stands alone
  }
  return CannotWrite(path, ELOOP);
}

// Locks a partial file that was just opened.
absl::Status Lock(int descriptor, const std::string& partial) {
  struct stat own = {};
  struct stat named = {};
  if (fstat(descriptor, &own) != 0) return CannotWrite(partial, errno);
  if (!S_ISREG(own.st_mode))
    return absl::InvalidArgumentError(
        absl::StrCat(partial, ": expected an ordinary file, or none"));
  const bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno != EWOULDBLOCK) return CannotWrite(partial, errno);
  // Another process may have finished it between the calls.
  if (!locked || stat(partial.c_str(), &named) != 0 ||
      named.st_ino != own.st_ino)
    return absl::InvalidArgumentError(
        absl::StrCat(partial, ": another process is writing this file"));
  return absl::OkStatus();
}

// Its owner and permissions become those of the file that is to be replaced.
void KeepOwner(int descriptor, const struct stat& old) {
  // Only the administrator may give a file away: a failure is no error.
  if (fchown(descriptor, old.st_uid, old.st_gid) != 0) errno = 0;
  if (fchmod(descriptor, old.st_mode & kPermissions) != 0) errno = 0;
}

}  // namespace

absl::Status CannotWrite(const std::string& path, int code) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", std::generic_category().message(code)));
}

absl::StatusOr<WriteTarget> FindTarget(const std::string& path) {
  WriteTarget target = {.path = path, .file = {}, .old = {}};
  if (path.empty()) return CannotWrite(path, ENOENT);
  struct stat about = {};
  const bool there = stat(path.c_str(), &about) == 0;
  if (!there && errno != ENOENT) return CannotWrite(path, errno);
  if (there && S_ISDIR(about.st_mode))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a file to write, found a directory"));
  if (there && access(path.c_str(), W_OK) != 0) return CannotWrite(path, errno);
  if (there && !S_ISREG(about.st_mode)) return target;
  if (there) target.old = about;
  BANYAN_ASSIGN_OR_RETURN(target.file, EndOfLinks(path));
  return target;
}

absl::StatusOr<int> OpenPartial(const WriteTarget& target, int access) {
  const std::string partial = target.Partial();
  // What was left by a process that was killed is taken over.
  const int descriptor =
      open(partial.c_str(),
           access | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kOfNewFiles);
  if (descriptor < 0) {
    const int code = errno;
    if (code == EISDIR || code == ELOOP || code == ENXIO)
      return absl::InvalidArgumentError(
          absl::StrCat(partial, ": expected an ordinary file, or none"));
    std::error_code ignored;
    const bool there = fs::exists(fs::symlink_status(partial, ignored));
    return CannotWrite(there ? partial : target.path, code);
  }
  const absl::Status locked = Lock(descriptor, partial);
  if (!locked.ok()) {
    close(descriptor);
    return locked;
  }
  if (target.old.has_value()) KeepOwner(descriptor, *target.old);
  return descriptor;
}

}  // namespace banyan
