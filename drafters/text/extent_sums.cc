#include "drafters/text/extent_sums.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/fnv1a.h"
#include "core/base/status_macros.h"

namespace banyan {
namespace {

constexpr std::size_t kDigits = 16;

std::size_t ExtentsOf(std::size_t bytes) {
  return (bytes + kExtentBytes - 1) / kExtentBytes;
}

std::string SumOf(absl::Span<const std::byte> file, std::size_t extent) {
  return absl::StrFormat(
      "%016x", Fnv1a(file.subspan(extent * kExtentBytes, kExtentBytes)));
}

}  // namespace

std::size_t ExtentSumsSize(std::size_t file_bytes) {
  return ExtentsOf(file_bytes) * kDigits;
}

std::string ExtentSums(absl::Span<const std::byte> file) {
  std::string sums;
  sums.reserve(ExtentSumsSize(file.size()));
  for (std::size_t i = 0; i < ExtentsOf(file.size()); ++i)
    sums += SumOf(file, i);
  return sums;
}

CheckedExtents::CheckedExtents(std::string path, std::string sums)
    : path_(std::move(path)),
      sums_(std::move(sums)),
      is_whole_(new std::atomic<bool>[sums_.size() / kDigits]()) {}

absl::Status CheckedExtents::Check(absl::Span<const std::byte> file,
                                   std::size_t offset, std::size_t size) const {
  if (size == 0 || offset >= file.size()) return absl::OkStatus();
  const std::size_t end = ExtentsOf(std::min(offset + size, file.size()));
  for (std::size_t i = offset / kExtentBytes; i < end; ++i)
    if (!is_whole_[i].load(std::memory_order_relaxed))
      BANYAN_RETURN_IF_ERROR(CheckOne(file, i));
  return absl::OkStatus();
}

absl::Status CheckedExtents::CheckOne(absl::Span<const std::byte> file,
                                      std::size_t extent) const {
  const absl::string_view expected =
      absl::string_view(sums_).substr(extent * kDigits, kDigits);
  const std::string found = SumOf(file, extent);
  if (found != expected) {
    const std::size_t first = extent * kExtentBytes;
    return absl::DataLossError(
        absl::StrCat(path_, ": the file was changed: expected bytes ", first,
                     " to ", std::min(first + kExtentBytes, file.size()) - 1,
                     " whose FNV-1a is ", expected, ", found ", found));
  }
  is_whole_[extent].store(true, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace banyan
