#include "core/base/resumed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/write_target.h"

namespace banyan {

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
