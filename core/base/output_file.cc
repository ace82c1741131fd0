#include "core/base/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOfNewFiles = 0666;  // less what the process masks
constexpr mode_t kPermissions = 07777;
// The most that one call takes on Linux is less than 2 GiB.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
// Small pieces are written together.
constexpr std::size_t kMostWaiting = std::size_t{1} << 16;
// As many as the system itself follows.
constexpr int kMostLinks = 40;

absl::Status Refused(const std::string& path, int code) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", std::generic_category().message(code)));
}

// The number of a stream that the program was given, and that `path` names.
std::optional<int> GivenStream(absl::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  int number = 0;
  if ((absl::ConsumePrefix(&path, "/dev/fd/") ||
       absl::ConsumePrefix(&path, "/proc/self/fd/")) &&
      absl::SimpleAtoi(path, &number))
    return number;
  return std::nullopt;
}

// Where the links at `path` lead, to a file that need not be there.
absl::StatusOr<std::string> TargetOf(const std::string& path) {
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    if (fs::symlink_status(target, error).type() != fs::file_type::symlink)
      return target.string();
    const fs::path next = fs::read_symlink(target, error);
    if (error) return Refused(path, error.value());
    target = target.parent_path() / next;  // an absolute one stands alone
  }
  return Refused(path, ELOOP);
}

// Its owner and permissions become those of the file that is to be replaced.
void KeepOwner(int descriptor, const struct stat& old) {
  // Only the administrator may give a file away: a failure is no error.
  if (fchown(descriptor, old.st_uid, old.st_gid) != 0) errno = 0;
  if (fchmod(descriptor, old.st_mode & kPermissions) != 0) errno = 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::OpenPartial(
    const std::string& path, const std::string& target) {
  const std::string partial = target + ".partial";
  // What was left by a process that was killed is taken over.
  const int descriptor = open(
      partial.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
      kOfNewFiles);
  const auto in_the_way = [&partial] {
    return absl::InvalidArgumentError(
        absl::StrCat(partial, ": expected an ordinary file, or none"));
  };
  if (descriptor < 0 && (errno == EISDIR || errno == ELOOP || errno == ENXIO))
    return in_the_way();
  if (descriptor < 0) return Refused(path, errno);
  auto file = absl::WrapUnique(new OutputFile(path, "", descriptor));
  const auto busy = [&partial] {
    return absl::InvalidArgumentError(
        absl::StrCat(partial, ": another process is writing this file"));
  };
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? busy() : Refused(path, errno);
  struct stat own = {};
  struct stat named = {};
  if (fstat(descriptor, &own) != 0) return Refused(path, errno);
  if (!S_ISREG(own.st_mode)) return in_the_way();
  // Another process may have finished it between the two calls.
  if (stat(partial.c_str(), &named) != 0 || named.st_ino != own.st_ino)
    return busy();
  if (ftruncate(descriptor, 0) != 0) return Refused(path, errno);
  file->target_ = target;
  return file;
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Open(
    const std::string& path) {
  if (const std::optional<int> given = GivenStream(path); given.has_value()) {
    const int descriptor = fcntl(*given, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return Refused(path, errno);
    return absl::WrapUnique(new OutputFile(path, "", descriptor));
  }
  struct stat about = {};
  const bool there = stat(path.c_str(), &about) == 0;
  if (path.empty() || (!there && errno != ENOENT))
    return Refused(path, path.empty() ? ENOENT : errno);
  if (there && S_ISDIR(about.st_mode))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a file to write, found a directory"));
  if (there && access(path.c_str(), W_OK) != 0) return Refused(path, errno);
  if (there && !S_ISREG(about.st_mode)) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return Refused(path, errno);
    return absl::WrapUnique(new OutputFile(path, "", descriptor));
  }
  BANYAN_ASSIGN_OR_RETURN(const std::string target, TargetOf(path));
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                          OpenPartial(path, target));
  if (there) KeepOwner(file->descriptor_, about);
  return file;
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::OpenEnd(
    const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) return Refused(path, errno);
  return absl::WrapUnique(new OutputFile(path, "", descriptor));
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  if (!target_.empty()) std::remove(PartialPath().c_str());
  close(descriptor_);
}

absl::Status OutputFile::Fail(int code) const {
  return absl::InternalError(
      absl::StrCat(path_, ": ", std::generic_category().message(code)));
}

absl::Status OutputFile::Put(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        write(descriptor_, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    // A file takes something or says why not.
    if (written <= 0) return Fail(written < 0 ? errno : EIO);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Append(absl::Span<const std::byte> bytes) {
  return Append(absl::string_view(reinterpret_cast<const char*>(bytes.data()),
                                  bytes.size()));
}

absl::Status OutputFile::Append(absl::string_view text) {
  Check(descriptor_ >= 0, "a finished file takes nothing more");
  if (waiting_.size() + text.size() <= kMostWaiting) {
    absl::StrAppend(&waiting_, text);
    return absl::OkStatus();
  }
  BANYAN_RETURN_IF_ERROR(Put(waiting_));
  waiting_.clear();
  return Put(text);
}

absl::Status OutputFile::Finish() {
  Check(descriptor_ >= 0, "a file is finished once");
  BANYAN_RETURN_IF_ERROR(Put(waiting_));
  if (!target_.empty() &&
      (fsync(descriptor_) != 0 ||
       std::rename(PartialPath().c_str(), target_.c_str()) != 0))
    return Fail(errno);  // and the destructor removes it
  target_.clear();
  const int code = close(descriptor_) == 0 ? 0 : errno;
  descriptor_ = -1;
  return code == 0 ? absl::OkStatus() : Fail(code);
}

absl::Status CheckWritable(const std::string& path) {
  struct stat about = {};
  const bool there = stat(path.c_str(), &about) == 0;
  if (!there || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))
    return OutputFile::Open(path).status();
  // Whoever reads from a pipe would take its being closed for the end.
  return access(path.c_str(), W_OK) == 0 ? absl::OkStatus()
                                         : Refused(path, errno);
}

}  // namespace banyan
