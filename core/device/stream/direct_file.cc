#include "core/device/stream/direct_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/file_state.h"
#include "core/base/status_macros.h"

namespace banyan {
namespace {

std::string Reason(int code) { return std::generic_category().message(code); }

absl::Status OpenError(const std::string& path, int code) {
  const std::string message = absl::StrCat(path, ": ", Reason(code));
  return code == ENOENT ? absl::NotFoundError(message)
                        : absl::InvalidArgumentError(message);
}

// Whether the file system lets this descriptor be read directly: some open the
// file so and refuse to read it.
bool ReadsDirectly(int descriptor) {
  alignas(kDirectBlock) std::byte block[kDirectBlock];
  ssize_t result = -1;
  do result = pread(descriptor, block, sizeof(block), 0);
  while (result < 0 && errno == EINTR);
  return result >= 0 || errno != EINVAL;
}

absl::StatusOr<FileState> StateOfOpen(const std::string& path, int descriptor) {
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) return OpenError(path, errno);
  if (!S_ISREG(about.st_mode))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected an ordinary file"));
  return StateOf(about);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DirectFile>> DirectFile::Open(
    const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  int descriptor = open(path.c_str(), kFlags | O_DIRECT);
  if (descriptor < 0 && errno != EINVAL) return OpenError(path, errno);
  const bool direct = descriptor >= 0 && ReadsDirectly(descriptor);
  if (!direct) {
    if (descriptor >= 0) close(descriptor);
    descriptor = open(path.c_str(), kFlags);
    if (descriptor < 0) return OpenError(path, errno);
  }
  const absl::StatusOr<FileState> state = StateOfOpen(path, descriptor);
  if (!state.ok()) {
    close(descriptor);
    return state.status();
  }
  return absl::WrapUnique(new DirectFile(path, descriptor, direct, *state));
}

DirectFile::~DirectFile() { close(descriptor_); }

absl::StatusOr<FileState> DirectFile::CheckUnchanged() const {
  BANYAN_ASSIGN_OR_RETURN(const FileState state,
                          StateOfOpen(path_, descriptor_));
  if (state.bytes == state_.bytes && state.written == state_.written)
    return state;
  return absl::DataLossError(absl::StrCat(
      path_, ": the file was changed while it was in use: expected ",
      state_.bytes, " bytes, written before it was opened, found ", state.bytes,
      state.bytes == state_.bytes ? ", written since" : ""));
}

absl::Status PendingRead::Take(std::int64_t result) {
  const bool again = result == -EINTR || result == -EAGAIN;
  interruptions_ = again ? interruptions_ + 1 : 0;
  if (again && interruptions_ < kMostInterruptions) return absl::OkStatus();
  if (result < 0)
    return absl::InternalError(absl::StrCat(
        file_->path(), ": ", Reason(static_cast<int>(-result)),
        " while reading ", to_.size(), " bytes at offset ", offset_));
  auto taken = static_cast<std::size_t>(result);
  if (file_->direct() && taken < to_.size())
    taken = taken / kDirectBlock * kDirectBlock;
  if (taken == 0)
    return absl::DataLossError(absl::StrCat(
        file_->path(), ": expected ", to_.size(), " bytes at offset ", offset_,
        ", found ", result, ": the file was cut short"));
  offset_ += taken;
  to_ = to_.subspan(taken);
  return absl::OkStatus();
}

}  // namespace banyan
