#include "core/checkpoint/weight_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/number_rows.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/stored_tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/checkpoint/files.h"

namespace banyan {
namespace {

using testing::HasSubstr;

// The number with `exponent_bits` and `fraction_bits`, by the definition of
// IEEE 754 and in double; it is not a NaN.
double ByDefinition(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto whole = static_cast<int>(bits);
  const int exponent = whole >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = whole & ((1 << fraction_bits) - 1);
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits),
                           exponent - bias - fraction_bits);
}

bool IsNan(std::uint16_t bits, int fraction_bits) {
  const int magnitude = bits & 0x7fff;
  return magnitude > (0x7fff >> fraction_bits << fraction_bits);
}

void CheckAll(float (*convert)(std::uint16_t), int exponent_bits,
              int fraction_bits) {
  for (int i = 0; i < 1 << 16; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float found = convert(bits);
    EXPECT_EQ(std::signbit(found), i >= 1 << 15) << i;
    if (IsNan(bits, fraction_bits)) {
      EXPECT_TRUE(std::isnan(found)) << i;
    } else {
      EXPECT_EQ(found, ByDefinition(bits, exponent_bits, fraction_bits)) << i;
    }
  }
}

TEST(WeightRows, EveryF16BecomesTheNumberThatItIs) {
  CheckAll(FloatFromF16, 5, 10);
  EXPECT_EQ(FloatFromF16(0x3555), 0.333251953125f);
  EXPECT_EQ(FloatFromF16(0x0001), 0x1p-24f);
  EXPECT_EQ(FloatFromF16(0x7bff), 65504);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(FloatFromF16(0xfe01)), 0xffc02000u);
}

TEST(WeightRows, EveryBf16BecomesTheNumberThatItIs) {
  CheckAll(FloatFromBf16, 8, 7);
  EXPECT_EQ(FloatFromBf16(0x3f80), 1);
  EXPECT_EQ(FloatFromBf16(0x0001), 0x1p-133f);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(FloatFromBf16(0x7f81)), 0x7f810000u);
}

// Number `i` of a stored tensor, and how it is stored: small whole numbers are
// exact in every type.
float Number(std::int64_t i) { return static_cast<float>(i % 251 - 100); }

std::string StoredAs(DType dtype, std::int64_t count) {
  std::string data;
  for (std::int64_t i = 0; i < count; ++i) {
    const float number = Number(i);
    std::uint32_t bits = std::bit_cast<std::uint32_t>(number);
    std::size_t size = 4;
    if (dtype == DType::kBf16) {
      bits >>= 16;
      size = 2;
    } else if (dtype == DType::kF16) {
      size = 2;
      bits = 0;
      while (bits < 0x10000 && ByDefinition(bits, 5, 10) != number) ++bits;
    }
    for (std::size_t byte = 0; byte < size; ++byte)
      data.push_back(static_cast<char>(bits >> 8 * byte & 0xff));
  }
  return data;
}

// All of `source`, whose tensor has these dimensions, in blocks of `block`
// rows, against the numbers themselves. The tensor's bytes are at odd
// addresses.
void CheckRows(const WeightSource& source, DType dtype, int block) {
  std::int64_t count = 1;
  for (const std::int64_t size : source.stored_shape) count *= size;
  const std::string data = absl::StrCat("x", StoredAs(dtype, count));
  const StoredTensor tensor = {dtype, source.stored_shape,
                               Bytes(absl::string_view(data).substr(1))};
  ASSERT_TRUE(CheckStored(tensor, source).ok());
  const std::int64_t all_rows = source.stored_shape[source.transposed ? 1 : 0];
  for (int first = 0; first < source.rows; first += block) {
    const int rows = std::min(block, source.rows - first);
    std::vector<float> out(static_cast<std::size_t>(rows * source.columns) + 1,
                           -1000.0f);
    ASSERT_TRUE(ReadRows(tensor, source, {first, rows}, out.data()).ok());
    EXPECT_EQ(out.back(), -1000.0f) << "wrote past the end";
    for (int i = 0; i < rows * source.columns; ++i) {
      const int row = source.first_row + first + i / source.columns;
      const int column = i % source.columns;
      const std::int64_t at = source.transposed ? column * all_rows + row
                                                : row * source.columns + column;
      ASSERT_EQ(out[static_cast<std::size_t>(i)], Number(at))
          << "row " << row << ", column " << column;
    }
  }
}

TEST(WeightRows, AreThoseOfTheTensorWhateverItsTypeLayoutAndBlocks) {
  const std::vector<WeightSource> sources = {
      {"t", {70, 9}, 70, 9},
      {"t", {70, 9}, 20, 9, 31},
      {"t", {9, 210}, 210, 9, 0, true},
      {"t", {9, 210}, 70, 9, 140, true},
      {"t", {150}, 50, 1, 100},
      {"t", {1, 3}, 1, 1, 2, true},
  };
  for (std::size_t i = 0; i < sources.size(); ++i)
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBf16})
      for (const int block : {1, 7, 16, 64, 210}) {
        SCOPED_TRACE(testing::Message()
                     << "source " << i << ", " << DTypeName(dtype) << ", block "
                     << block);
        CheckRows(sources[i], dtype, block);
      }
}

TEST(WeightRows, NoneIsNothing) {
  const StoredTensor tensor = {DType::kF32, {2, 3}, {}};
  EXPECT_TRUE(ReadRows(tensor, {"t", {2, 3}, 2, 3}, {2, 0}, nullptr).ok());
}

TEST(WeightRows, OtherShapesAndTypesAreRefused) {
  const WeightSource source = {"t", {2, 3}, 2, 3};
  EXPECT_THAT(
      std::string(CheckStored({DType::kF32, {3, 2}, {}}, source).message()),
      HasSubstr("expected shape [2, 3], found [3, 2]"));
  EXPECT_FALSE(CheckStored({DType::kF32, {6}, {}}, source).ok());
  for (const DType dtype :
       {DType::kF64, DType::kI64, DType::kI32, DType::kI16, DType::kI8,
        DType::kU8, DType::kBool, DType::kF8E4M3, DType::kF8E5M2})
    EXPECT_THAT(std::string(CheckStored({dtype, {2, 3}, {}}, source).message()),
                HasSubstr("expected F32, F16 or BF16, found " +
                          std::string(DTypeName(dtype))));
}

TEST(WeightRowsDeathTest, RowsThatAreNotThereEndTheProgram) {
  const StoredTensor tensor = {DType::kF32, {2, 3}, {}};
  const WeightSource source = {"t", {2, 3}, 2, 3};
  float out = 0;
  EXPECT_DEATH((void)ReadRows(tensor, source, {1, 2}, &out), "the rows exist");
  EXPECT_DEATH((void)ReadRows(tensor, source, {-1, 1}, &out), "the rows exist");
}

}  // namespace
}  // namespace banyan
