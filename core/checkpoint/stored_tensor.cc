#include "core/checkpoint/stored_tensor.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/messages.h"
#include "core/base/panels/weight_panels.h"
#include "core/base/weight_format.h"

namespace banyan {

absl::Status CheckPanels(const std::string& path, const PackMatrix& matrix,
                         std::uint64_t offset,
                         absl::Span<const std::byte> panels) {
  if (PanelsAreFinite(matrix.format, matrix.columns, panels))
    return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, ": tensor ", QuotedName(matrix.parts.front().tensor),
                   ": expected finite numbers, found others in the ",
                   panels.size(), " bytes at ", offset));
}

PackedData::PackedData(PackHeader header, const MappedFile& file)
    : header_(std::move(header)), file_(file) {
  std::size_t extents = 0;
  for (const PackMatrix& matrix : header_.matrices) {
    first_.push_back(extents);
    extents += matrix.extents();
  }
  checked_ = std::vector<std::atomic<bool>>(extents);
}

absl::Status PackedData::CheckSum(absl::Span<const std::byte> bytes,
                                  std::uint32_t checksum,
                                  const std::string& tensor) const {
  const bool right = Crc32(bytes) == checksum;
  // A file that was cut reads as zeros: the cut is the better error.
  BANYAN_RETURN_IF_ERROR(file_.CheckLength());
  if (right) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(file_.path(), ": tensor ", QuotedName(tensor),
                   ": the bytes at ", bytes.data() - file_.bytes().data(),
                   " do not have their checksum: the file was damaged"));
}

absl::StatusOr<absl::Span<const std::byte>> PackedData::Vector(
    const PackVector& vector) const {
  const absl::Span<const std::byte> bytes = file_.bytes().subspan(
      static_cast<std::size_t>(header_.data_begin + vector.offset),
      static_cast<std::size_t>(vector.end() - vector.offset));
  BANYAN_RETURN_IF_ERROR(CheckSum(bytes, vector.checksum, vector.tensor));
  return bytes;
}

absl::Span<const std::byte> PackedData::Extent(const PackMatrix& matrix,
                                               std::size_t extent) const {
  return file_.bytes().subspan(
      static_cast<std::size_t>(header_.data_begin +
                               matrix.ExtentOffset(extent)),
      matrix.ExtentBytes(extent));
}

absl::Status PackedData::CheckExtent(const PackMatrix& matrix,
                                     std::size_t extent) const {
  const absl::Span<const std::byte> bytes = Extent(matrix, extent);
  BANYAN_RETURN_IF_ERROR(
      CheckSum(bytes, matrix.checksums[extent], matrix.parts.front().tensor));
  return CheckPanels(file_.path(), matrix,
                     header_.data_begin + matrix.ExtentOffset(extent), bytes);
}

absl::StatusOr<const std::byte*> PackedData::Panel(const PackMatrix& matrix,
                                                   std::size_t panel) const {
  const std::size_t extent = panel / matrix.panels;
  const auto number =
      static_cast<std::size_t>(&matrix - header_.matrices.data());
  std::atomic<bool>& checked = checked_[first_[number] + extent];
  if (!checked) {
    BANYAN_RETURN_IF_ERROR(CheckExtent(matrix, extent));
    checked = true;
  }
  return Extent(matrix, extent).data() +
         panel % matrix.panels * PanelBytes(matrix.format, matrix.columns);
}

absl::Status PackedData::ReadPanels(const PackMatrix& matrix,
                                    absl::Span<std::byte> to) const {
  for (std::size_t extent = 0; extent < matrix.extents(); ++extent) {
    const absl::Span<const std::byte> from = Extent(matrix, extent);
    BANYAN_RETURN_IF_ERROR(CheckExtent(matrix, extent));
    std::copy(from.begin(), from.end(), to.begin());
    to.remove_prefix(from.size());
    file_.Release(from);
  }
  return file_.CheckLength();
}

void PackedData::Release(const PackMatrix& matrix) const {
  file_.Release(file_.bytes().subspan(
      static_cast<std::size_t>(header_.data_begin + matrix.offset),
      static_cast<std::size_t>(matrix.end() - matrix.offset)));
}

absl::StatusOr<DType> DTypeNamed(absl::string_view name) {
  std::vector<absl::string_view> known;
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (DTypeBlock(dtype) != 1) continue;
    if (DTypeName(dtype) == name) return dtype;
    known.push_back(DTypeName(dtype));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown dtype ", QuotedName(name),
                   "; known: ", absl::StrJoin(known, ", ")));
}

absl::StatusOr<const std::byte*> PackedRows::Panel(int row) const {
  return data->Panel(*matrix,
                     static_cast<std::size_t>((at + row - first) / kPanelRows));
}

std::string ShapeText(absl::Span<const std::int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace banyan
