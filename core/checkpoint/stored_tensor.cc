#include "core/checkpoint/stored_tensor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/check.h"

namespace banyan {
namespace {

struct DTypeRow {
  DType dtype;
  absl::string_view name;
  std::int64_t bytes;
};

constexpr std::array<DTypeRow, 12> kDTypes = {{
    {DType::kF64, "F64", 8},
    {DType::kF32, "F32", 4},
    {DType::kF16, "F16", 2},
    {DType::kBf16, "BF16", 2},
    {DType::kI64, "I64", 8},
    {DType::kI32, "I32", 4},
    {DType::kI16, "I16", 2},
    {DType::kI8, "I8", 1},
    {DType::kU8, "U8", 1},
    {DType::kBool, "BOOL", 1},
    {DType::kF8E4M3, "F8_E4M3", 1},
    {DType::kF8E5M2, "F8_E5M2", 1},
}};

const DTypeRow& RowOf(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  Check(index < kDTypes.size() && kDTypes[index].dtype == dtype,
        "the table of types is in the order of the enum");
  return kDTypes[index];
}

}  // namespace

absl::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }

std::int64_t DTypeBytes(DType dtype) { return RowOf(dtype).bytes; }

absl::StatusOr<DType> DTypeNamed(absl::string_view name) {
  std::vector<absl::string_view> known;
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
    known.push_back(row.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown dtype ", QuotedName(name),
                   "; known: ", absl::StrJoin(known, ", ")));
}

std::string ShapeText(absl::Span<const std::int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

std::string QuotedName(absl::string_view name) {
  constexpr std::size_t kShown = 80;
  return absl::StrCat("'", absl::CHexEscape(name.substr(0, kShown)),
                      name.size() > kShown ? "...'" : "'");
}

}  // namespace banyan
