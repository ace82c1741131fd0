#include "core/device/host_buffer.h"

#include <sys/mman.h>

#include <limits>

#include "absl/memory/memory.h"
#include "core/base/common.h"

namespace banyan {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<HostBuffer>> HostBuffer::Allocate(
    std::size_t bytes) {
  const auto full = [bytes] {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", bytes, " bytes"));
  };
  // One huge page more, so that large memory can start at one.
  const std::size_t slack = bytes >= kHugePage ? kHugePage : 1;
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) return full();
  const std::size_t mapped = bytes + slack;
  void* const map = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return full();
  // A hint; where it fails small pages do. Not for the slack: a huge page there
  // would exceed `bytes`.
  if (bytes >= kHugePage) madvise(map, bytes, MADV_HUGEPAGE);
  return absl::WrapUnique(
      new HostBuffer(static_cast<std::byte*>(map), bytes, mapped));
}

HostBuffer::HostBuffer(std::byte* data, std::size_t bytes, std::size_t mapped)
    : data_(data), bytes_(bytes), mapped_(mapped) {}

HostBuffer::~HostBuffer() { munmap(data_, mapped_); }

}  // namespace banyan
