#include "core/base/dtype.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/base/check.h"

namespace banyan {
namespace {

struct Row {
  DType dtype;
  absl::string_view name;
  std::int64_t bytes;
  std::int64_t block = 1;
};

constexpr std::array<Row, kDTypes> kRows = {{
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
    {DType::kQ4_0, "Q4_0", 18, 32},
    {DType::kQ4_1, "Q4_1", 20, 32},
    {DType::kQ8_0, "Q8_0", 34, 32},
    {DType::kQ4K, "Q4_K", 144, 256},
    {DType::kQ5K, "Q5_K", 176, 256},
    {DType::kQ6K, "Q6_K", 210, 256},
}};

const Row& RowOf(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  Check(index < kRows.size() && kRows[index].dtype == dtype,
        "the table of types is in the order of the enum");
  return kRows[index];
}

}  // namespace

absl::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }

std::int64_t DTypeBlock(DType dtype) { return RowOf(dtype).block; }

std::int64_t DTypeBytes(DType dtype) { return RowOf(dtype).bytes; }

}  // namespace banyan
