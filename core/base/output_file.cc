#include "core/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
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
#include "core/base/write_target.h"

namespace banyan {
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

}  // namespace banyan
