// How a weight is kept: weight.h, and HostWeight's answers.
#include "core/ops/weight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/ops/host/host_weight.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

absl::StatusOr<std::unique_ptr<HostWeight>> Pack(WeightFormat format,
                                                 const Numbers& numbers) {
  return HostWeight::Pack(format, numbers.rows, numbers.columns,
                          [&](int first, int count, float* out) {
                            const Numbers some = numbers.Rows(first, count);
                            std::copy(some.data.begin(), some.data.end(), out);
                            return absl::OkStatus();
                          });
}

// What products see. Numbers after the last column would show in the next row.
Numbers Read(const HostWeight& weight) {
  Numbers numbers(weight.rows(), weight.columns());
  for (int i = 0; i < weight.rows(); ++i) {
    std::vector<float> row(static_cast<std::size_t>(weight.columns()) + 1, 7);
    weight.ReadRow(i, row.data());
    EXPECT_EQ(row.back(), 7) << "wrote past row " << i;
    std::copy_n(row.data(), weight.columns(), numbers.row(i));
  }
  return numbers;
}

std::uint32_t Bits(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

float FromBits(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// The nearest of the two bfloat16 around x, found by trying both: the one with
// an even last bit where they are equally near. 2^128 stands for infinity.
float NearestBf16(float x) {
  const std::uint32_t down = Bits(x) & 0xffff0000U;
  const std::uint32_t up = down + 0x10000U;
  if (down == Bits(x)) return x;
  const auto value = [](std::uint32_t bits) {
    return (bits & 0x7fffffffU) == 0x7f800000U
               ? std::copysign(0x1p128, FromBits(bits))
               : double{FromBits(bits)};
  };
  const double below = std::fabs(double{x} - value(down));
  const double above = std::fabs(double{x} - value(up));
  if (below != above) return FromBits(below < above ? down : up);
  return FromBits((down & 0x10000U) == 0 ? down : up);
}

class WeightShapes : public testing::TestWithParam<int> {};

TEST_P(WeightShapes, F32IsExact) {
  Dice dice(1);
  for (int rows : {1, 2, 15, 16, 17, 33, 100}) {
    const Numbers numbers = HardNumbers(rows, GetParam(), 100, dice);
    const auto weight = Pack(WeightFormat::kF32, numbers);
    ASSERT_TRUE(weight.ok()) << weight.status();
    EXPECT_EQ((*weight)->format(), WeightFormat::kF32);
    EXPECT_TRUE(SameBits(Read(**weight), numbers)) << rows << " rows";
  }
}

TEST_P(WeightShapes, Bf16IsTheNearest) {
  Dice dice(2);
  for (int rows : {1, 2, 15, 16, 17, 33, 100}) {
    const Numbers numbers = HardNumbers(rows, GetParam(), 100, dice);
    Numbers expected = numbers;
    for (float& x : expected.data) x = NearestBf16(x);
    const auto weight = Pack(WeightFormat::kBf16, numbers);
    ASSERT_TRUE(weight.ok()) << weight.status();
    EXPECT_TRUE(SameBits(Read(**weight), expected)) << rows << " rows";
  }
}

// Every block of a packed weight against weight.h.
void ExpectQ8(const HostWeight& weight, const Numbers& numbers) {
  const Numbers read = Read(weight);
  for (int i = 0; i < numbers.rows; ++i)
    for (int first = 0; first < numbers.columns; first += kQ8Block) {
      const int end = std::min(first + kQ8Block, numbers.columns);
      double largest = 0;
      for (int k = first; k < end; ++k)
        largest = std::max(largest, std::fabs(double{numbers.at(i, k)}));
      const float scale = weight.Scale(i, first / kQ8Block);
      // A bfloat16, the least that is not below largest / 127. The quotient
      // may be formed in f32, whose rounding may hide a last bit.
      EXPECT_EQ(Bits(scale) & 0xffffU, 0U) << scale;
      EXPECT_GE(double{scale} * (1 + 2 * kUnit) + kTiny, largest / 127);
      if (largest > 0) {
        EXPECT_LT(double{FromBits(Bits(scale) - 0x10000U)},
                  largest / 127 * (1 + 2 * kUnit) + kTiny);
      }
      for (int k = first; k < end; ++k) {
        const int quant = weight.Quant(i, k);
        ASSERT_LE(std::abs(quant), 127) << "row " << i << ", column " << k;
        EXPECT_EQ(read.at(i, k), scale * static_cast<float>(quant));
        // Half a step, and the rounding of the quotient, at most 127.
        ASSERT_LE(std::fabs(double{numbers.at(i, k)} - double{scale} * quant),
                  double{scale} * (0.5 + 127 * 2 * kUnit))
            << "row " << i << ", column " << k << ": " << numbers.at(i, k);
      }
    }
}

TEST_P(WeightShapes, Q8IsWithinHalfAStep) {
  Dice dice(3);
  for (int rows : {1, 2, 15, 16, 17, 33, 100}) {
    Numbers numbers = HardNumbers(rows, GetParam(), 12, dice);
    std::fill_n(numbers.row(rows - 1), std::min(GetParam(), kQ8Block), 0.0F);
    const auto weight = Pack(WeightFormat::kQ8, numbers);
    ASSERT_TRUE(weight.ok()) << weight.status();
    ExpectQ8(**weight, numbers);
  }
}

INSTANTIATE_TEST_SUITE_P(Columns, WeightShapes,
                         testing::Values(1, 2, 15, 16, 17, 31, 32, 33, 63, 100,
                                         257));

TEST(Weight, Bf16RoundsTiesToEven) {
  Numbers numbers(1, 6);
  numbers.data = {FromBits(0x3f808000),  // half way, 1 is even
                  FromBits(0x3f818000),  // half way, the next is even
                  FromBits(0x3f808001),
                  FromBits(0xbf807fff),
                  LargestWeight(WeightFormat::kBf16),
                  -LargestWeight(WeightFormat::kBf16)};
  const auto weight = Pack(WeightFormat::kBf16, numbers);
  ASSERT_TRUE(weight.ok()) << weight.status();
  const Numbers read = Read(**weight);
  EXPECT_EQ(Bits(read.at(0, 0)), 0x3f800000U);
  EXPECT_EQ(Bits(read.at(0, 1)), 0x3f820000U);
  EXPECT_EQ(Bits(read.at(0, 2)), 0x3f810000U);
  EXPECT_EQ(Bits(read.at(0, 3)), 0xbf800000U);
  EXPECT_EQ(read.at(0, 4), 0x1.fep127F);
  EXPECT_EQ(read.at(0, 5), -0x1.fep127F);
}

// What every format takes stays finite in it, and one float more would not.
TEST(Weight, LargestWeightIsTheLargestThatStaysFinite) {
  for (WeightFormat format :
       {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8}) {
    const float most = LargestWeight(format);
    Numbers numbers(1, 5);
    numbers.data = {most, -most, 1, -1, 0};
    const auto weight = Pack(format, numbers);
    ASSERT_TRUE(weight.ok()) << weight.status();
    for (float x : Read(**weight).data) EXPECT_TRUE(std::isfinite(x));
    if (format == WeightFormat::kQ8) continue;  // it takes every float
    numbers.data[0] = std::nextafter(most, kInfinity);
    EXPECT_EQ(Read(**Pack(format, numbers)).at(0, 0), kInfinity);
  }
}

// From the smallest blocks whose scale is not lost, 127 * 2^-148, to the
// largest floats.
TEST(Weight, Q8TakesEveryFiniteMagnitude) {
  Dice dice(4);
  for (int exponent = -141; exponent < 128; ++exponent) {
    Numbers numbers(1, kQ8Block);
    for (float& x : numbers.data)
      x = static_cast<float>(std::ldexp(double{dice.Signed()}, exponent));
    numbers.data[5] = static_cast<float>(
        std::ldexp(1 + dice.Below(1 << 23) * 0x1p-23, exponent));
    const auto weight = Pack(WeightFormat::kQ8, numbers);
    ASSERT_TRUE(weight.ok()) << weight.status();
    SCOPED_TRACE(exponent);
    ExpectQ8(**weight, numbers);
  }
}

TEST(Weight, AsksForEveryRowOnceInOrder) {
  for (WeightFormat format :
       {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8})
    for (int rows : {1, 16, 37, 257}) {
      int next = 0;
      const auto weight = HostWeight::Pack(
          format, rows, 3, [&](int first, int count, float* out) {
            EXPECT_EQ(first, next);
            EXPECT_GE(count, 1);
            next = first + count;
            std::fill_n(out, 3 * count, 1.0F);
            return absl::OkStatus();
          });
      ASSERT_TRUE(weight.ok()) << weight.status();
      EXPECT_EQ(next, rows);
    }
}

TEST(Weight, PassesOnTheErrorOfItsSource) {
  for (WeightFormat format :
       {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8}) {
    int calls = 0;
    const auto weight =
        HostWeight::Pack(format, 257, 3, [&](int first, int count, float* out) {
          ++calls;
          if (first + count > 100) return absl::DataLossError("the disk");
          std::fill_n(out, 3 * count, 1.0F);
          return absl::OkStatus();
        });
    EXPECT_EQ(weight.status(), absl::DataLossError("the disk"));
    EXPECT_GT(calls, 0);
  }
}

// bytes() is what a pass reads: what the format says, up to the last panel and
// block.
TEST(Weight, CountsItsBytes) {
  const Numbers numbers(32, 64);
  const std::size_t weights = 32 * 64;
  const auto bytes = [&](WeightFormat format) {
    const auto weight = Pack(format, numbers);
    Check(weight.ok(), weight.status().message());
    return (*weight)->bytes();
  };
  EXPECT_EQ(bytes(WeightFormat::kF32), weights * 4);
  EXPECT_EQ(bytes(WeightFormat::kBf16), weights * 2);
  EXPECT_EQ(bytes(WeightFormat::kQ8), weights + weights / kQ8Block * 2);
}

}  // namespace
}  // namespace banyan
