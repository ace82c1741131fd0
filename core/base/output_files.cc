#include "core/base/output_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/memory/memory.h"
#include "absl/strings/strip.h"
#include "core/base/check.h"

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

namespace {

// The most that one call takes on Linux is less than 2 GiB.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
// Small pieces are written together.
constexpr std::size_t kMostWaiting = std::size_t{1} << 16;

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

}  // namespace

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Open(
    const std::string& path) {
  if (const std::optional<int> given = GivenStream(path); given.has_value()) {
    const int descriptor = fcntl(*given, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return CannotWrite(path, errno);
    return absl::WrapUnique(new OutputFile(path, "", descriptor));
  }
  BANYAN_ASSIGN_OR_RETURN(const WriteTarget target, FindTarget(path));
  if (target.file.empty()) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return CannotWrite(path, errno);
    return absl::WrapUnique(new OutputFile(path, "", descriptor));
  }
  BANYAN_ASSIGN_OR_RETURN(const int descriptor, OpenPartial(target, O_WRONLY));
  auto file = absl::WrapUnique(new OutputFile(path, target.file, descriptor));
  // Discards what a killed process left.
  if (ftruncate(descriptor, 0) != 0) return CannotWrite(path, errno);
  return file;
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::OpenEnd(
    const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) return CannotWrite(path, errno);
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
  if (GivenStream(path).has_value()) return OutputFile::Open(path).status();
  BANYAN_ASSIGN_OR_RETURN(const WriteTarget target, FindTarget(path));
  // Whoever reads from a pipe would take its being closed for the end.
  if (target.file.empty()) return absl::OkStatus();
  struct stat about = {};
  const std::string partial = target.Partial();
  const bool there = lstat(partial.c_str(), &about) == 0;
  BANYAN_ASSIGN_OR_RETURN(const int descriptor, OpenPartial(target, O_WRONLY));
  if (!there) std::remove(partial.c_str());
  close(descriptor);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ResumedFile>> ResumedFile::Open(
    const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(WriteTarget target, FindTarget(path));
  if (target.file.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected an ordinary file, or none"));
  BANYAN_ASSIGN_OR_RETURN(const int descriptor, OpenPartial(target, O_RDWR));
  return absl::WrapUnique(new ResumedFile(std::move(target), descriptor));
}

ResumedFile::~ResumedFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status ResumedFile::Fail(int code) const {
  return absl::InternalError(
      absl::StrCat(partial(), ": ", std::generic_category().message(code)));
}

absl::StatusOr<std::uint64_t> ResumedFile::size() const {
  struct stat about = {};
  if (fstat(descriptor_, &about) != 0) return Fail(errno);
  return static_cast<std::uint64_t>(about.st_size);
}

absl::Status ResumedFile::Read(std::uint64_t at,
                               absl::Span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t read =
        pread(descriptor_, to.data(), to.size(), static_cast<off_t>(at));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return Fail(errno);
    if (read == 0)
      return absl::InternalError(absl::StrCat(partial(), ": expected ",
                                              to.size(), " bytes at byte ", at,
                                              ", found the end of the file"));
    at += static_cast<std::uint64_t>(read);
    to.remove_prefix(static_cast<std::size_t>(read));
  }
  return absl::OkStatus();
}

absl::Status ResumedFile::Write(std::uint64_t at,
                                absl::Span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    // A file takes something or says why not.
    if (written <= 0) return Fail(written < 0 ? errno : EIO);
    at += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status ResumedFile::Resize(std::uint64_t bytes) {
  return ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0
             ? absl::OkStatus()
             : Fail(errno);
}

absl::Status ResumedFile::Sync() {
  return fdatasync(descriptor_) == 0 ? absl::OkStatus() : Fail(errno);
}

absl::Status ResumedFile::Finish() {
  if (fsync(descriptor_) != 0) return Fail(errno);
  if (std::rename(partial().c_str(), target_.file.c_str()) != 0)
    return absl::InternalError(absl::StrCat(
        target_.path, ": ", std::generic_category().message(errno)));
  const int code = close(descriptor_) == 0 ? 0 : errno;
  descriptor_ = -1;
  return code == 0 ? absl::OkStatus() : Fail(code);
}

}  // namespace banyan
