#include "core/base/number_rows.h"

#include <array>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/draw_math.h"

namespace banyan {

namespace {

struct Row {
  DType dtype;
  absl::string_view name;
  std::int64_t bytes;
  std::int64_t block = 1;
};

constexpr std::array<Row, kDTypes> kRows = {{
    {DType::kF64, "F64", 8},         {DType::kF32, "F32", 4},
    {DType::kF16, "F16", 2},         {DType::kBf16, "BF16", 2},
    {DType::kI64, "I64", 8},         {DType::kI32, "I32", 4},
    {DType::kI16, "I16", 2},         {DType::kI8, "I8", 1},
    {DType::kU8, "U8", 1},           {DType::kBool, "BOOL", 1},
    {DType::kF8E4M3, "F8_E4M3", 1},  {DType::kF8E5M2, "F8_E5M2", 1},
    {DType::kQ4_0, "Q4_0", 18, 32},  {DType::kQ4_1, "Q4_1", 20, 32},
    {DType::kQ5_0, "Q5_0", 22, 32},  {DType::kQ5_1, "Q5_1", 24, 32},
    {DType::kQ8_0, "Q8_0", 34, 32},  {DType::kQ4K, "Q4_K", 144, 256},
    {DType::kQ5K, "Q5_K", 176, 256}, {DType::kQ6K, "Q6_K", 210, 256},
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

float FloatFromF16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {  // fraction * 2^-24, which f32 has a normal number for
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  // The biases of the exponents are 15 and 127; 31 stands for what is not
  // finite, as 255 does.
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

float FloatFromBf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

double CheckedSum(absl::Span<const double> row) {
  const double* values = row.data();
  const double below = SumInLanes(
      row.size(), [=](std::size_t i) { return std::max(-values[i], 0.0); });
  Check(below == 0, "a mass or weight is negative or NaN");
  return SumInLanes(row.size(), [=](std::size_t i) { return values[i]; });
}

}  // namespace banyan
