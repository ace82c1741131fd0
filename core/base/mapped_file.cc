#include "core/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/file_state.h"
#include "core/base/status_macros.h"

namespace banyan {
namespace {

absl::Status SystemError(const std::string& path, int code) {
  const std::string message =
      absl::StrCat(path, ": ", std::generic_category().message(code));
  return code == ENOENT ? absl::NotFoundError(message)
                        : absl::InvalidArgumentError(message);
}

}  // namespace

// The file of `descriptor`, mapped; an empty file is an empty span.
absl::StatusOr<MappedFile::Mapping> MappedFile::Map(const std::string& path,
                                                    int descriptor) {
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) return SystemError(path, errno);
  if (!S_ISREG(about.st_mode))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected an ordinary file"));
  Mapping mapping = {{}, StateOf(about)};
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size == 0) return mapping;
  void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (start == MAP_FAILED) return SystemError(path, errno);
  mapping.bytes = {static_cast<const std::byte*>(start), size};
  return mapping;
}

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::Open(
    const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemError(path, errno);
  const absl::StatusOr<Mapping> mapping = Map(path, descriptor);
  close(descriptor);  // the mapping stays
  BANYAN_RETURN_IF_ERROR(mapping.status());
  return std::unique_ptr<MappedFile>(new MappedFile(path, *mapping));
}

MappedFile::~MappedFile() {
  guard_.reset();  // before another mapping may lie there
  if (!bytes_.empty())
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

absl::Status MappedFile::CheckLength() const {
  const std::optional<FileState> now = FileStateAt(path_);
  if (now.has_value() && now->IsSameFile(state_) && now->bytes < bytes_.size())
    return absl::DataLossError(absl::StrCat(
        path_, ": expected ", bytes_.size(), " bytes, as when it was opened, ",
        "found ", now->bytes, ": it was cut short since"));
  if (guard_->was_hit())
    return absl::DataLossError(absl::StrCat(
        path_, ": expected ", bytes_.size(),
        " bytes, as when it was opened, found fewer while it was read"));
  return absl::OkStatus();
}

void MappedFile::Release(absl::Span<const std::byte> part) const {
  if (part.empty()) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(part.data() - bytes_.data());
  const std::size_t first = (begin + page - 1) / page * page;
  const std::size_t end = (begin + part.size()) / page * page;
  if (first >= end) return;
  // Advice: that it is not taken is no failure.
  (void)madvise(const_cast<std::byte*>(bytes_.data()) + first, end - first,
                MADV_DONTNEED);
}

}  // namespace banyan
