#include "core/base/resumed_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace banyan {
namespace {

constexpr mode_t kOfNewFiles = 0666;  // less what the process masks

absl::Status Refused(const std::string& path, int code) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", std::generic_category().message(code)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ResumedFile>> ResumedFile::Open(
    const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected an ordinary file, or none"));
  const std::string partial = path + ".partial";
  const int descriptor =
      open(partial.c_str(),
           O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kOfNewFiles);
  if (descriptor < 0) return Refused(partial, errno);
  auto file = absl::WrapUnique(new ResumedFile(path, descriptor));
  if (fstat(descriptor, &about) != 0) return Refused(partial, errno);
  if (!S_ISREG(about.st_mode))
    return absl::InvalidArgumentError(
        absl::StrCat(partial, ": expected an ordinary file, or none"));
  const auto busy = [&partial] {
    return absl::InvalidArgumentError(
        absl::StrCat(partial, ": another process is writing this file"));
  };
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? busy() : Refused(partial, errno);
  // Another process may have finished it between the calls.
  struct stat named = {};
  if (stat(partial.c_str(), &named) != 0 || named.st_ino != about.st_ino)
    return busy();
  return file;
}

ResumedFile::~ResumedFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status ResumedFile::Fail(int code) const {
  return absl::InternalError(
      absl::StrCat(path_, ": ", std::generic_category().message(code)));
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
    if (read <= 0) return Fail(read < 0 ? errno : ENODATA);
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
  if (fsync(descriptor_) != 0 ||
      std::rename(PartialPath().c_str(), path_.c_str()) != 0)
    return Fail(errno);
  const int code = close(descriptor_) == 0 ? 0 : errno;
  descriptor_ = -1;
  return code == 0 ? absl::OkStatus() : Fail(code);
}

}  // namespace banyan
