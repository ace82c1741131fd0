// Sums of a file's extents, so that a part of a large file can be checked when
// it is first read.
#ifndef BANYAN_DRAFTERS_TEXT_EXTENT_SUMS_H_
#define BANYAN_DRAFTERS_TEXT_EXTENT_SUMS_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace banyan {

// A search meets a new extent in most of its first steps, and then none: small
// enough that the first searches do not stall, large enough that sums are a
// four-thousandth of the files.
inline constexpr std::size_t kExtentBytes = std::size_t{1} << 16;

// FNV-1a of each extent, sixteen digits of base 16, one after the other.
std::string ExtentSums(absl::Span<const std::byte> file);
// How many characters that are.
std::size_t ExtentSumsSize(std::size_t file_bytes);

// Any number of threads may use one at once.
class CheckedExtents {
 public:
  CheckedExtents() = default;
  // `sums` are ExtentSums of the file as it was written.
  CheckedExtents(std::string path, std::string sums);

  // DataLoss, which names file and bytes, if an extent of `size` bytes of
  // `file` from `offset` on was changed. Each extent is read once, by the first
  // to ask for it; bytes beyond the file are none.
  absl::Status Check(absl::Span<const std::byte> file, std::size_t offset,
                     std::size_t size) const;

 private:
  absl::Status CheckOne(absl::Span<const std::byte> file,
                        std::size_t extent) const;

  std::string path_;
  std::string sums_;
  std::unique_ptr<std::atomic<bool>[]> is_whole_;  // by extent
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_EXTENT_SUMS_H_
