#include "core/checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {
namespace {

absl::Status SystemError(const std::string& path, int code) {
  const std::string message =
      absl::StrCat(path, ": ", std::generic_category().message(code));
  return code == ENOENT ? absl::NotFoundError(message)
                        : absl::InvalidArgumentError(message);
}

// The file behind `descriptor`, mapped; an empty file is an empty span.
absl::StatusOr<absl::Span<const std::byte>> Map(const std::string& path,
                                                int descriptor) {
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) return SystemError(path, errno);
  if (!S_ISREG(about.st_mode))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected an ordinary file"));
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size == 0) return absl::Span<const std::byte>();
  void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (start == MAP_FAILED) return SystemError(path, errno);
  return absl::Span<const std::byte>(static_cast<const std::byte*>(start),
                                     size);
}

}  // namespace

Safetensors::Safetensors(std::string path, absl::Span<const std::byte> file)
    : path_(std::move(path)), file_(file) {}

Safetensors::~Safetensors() {
  if (!file_.empty())
    munmap(const_cast<std::byte*>(file_.data()), file_.size());
}

absl::StatusOr<std::unique_ptr<Safetensors>> Safetensors::Open(
    const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemError(path, errno);
  const absl::StatusOr<absl::Span<const std::byte>> file =
      Map(path, descriptor);
  close(descriptor);  // the mapping stays
  BANYAN_RETURN_IF_ERROR(file.status());
  std::unique_ptr<Safetensors> result(new Safetensors(path, *file));
  BANYAN_ASSIGN_OR_RETURN(result->tensors_, ParseSafetensors(*file, path));
  return result;
}

const StoredTensor* Safetensors::Find(absl::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

void Safetensors::Release(const StoredTensor& tensor) const {
  if (tensor.data.empty()) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin =
      static_cast<std::size_t>(tensor.data.data() - file_.data());
  const std::size_t first = (begin + page - 1) / page * page;
  const std::size_t end = (begin + tensor.data.size()) / page * page;
  if (first >= end) return;
  // Advice: that it is not taken is no failure.
  (void)madvise(const_cast<std::byte*>(file_.data()) + first, end - first,
                MADV_DONTNEED);
}

}  // namespace banyan
