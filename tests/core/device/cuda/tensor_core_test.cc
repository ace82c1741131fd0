// The sums of tensor cores: as numbers that the rules give, and against an
// exact rational computation of the same rules.
#include "core/device/cuda/tensor_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace banyan {
namespace {

using Integer = boost::multiprecision::cpp_int;

constexpr float kInfinite = std::numeric_limits<float>::infinity();

std::uint16_t Bf16Of(float number) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16);
}

// c plus the products of the pairs, the other terms being zeros.
float Sum(int capability, float c,
          const std::vector<std::array<float, 2>>& pairs) {
  std::array<TensorTerms, 16> a = {};
  std::array<TensorTerms, 8> b = {};
  std::array<std::array<float, 8>, 16> sums = {};
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    a[3][k] = Bf16Of(pairs[k][0]);
    b[5][k] = Bf16Of(pairs[k][1]);
  }
  sums[3][5] = c;
  MultiplyInTensorCore(*TensorCoreOf(capability), a, b, sums);
  return sums[3][5];
}

std::uint32_t Bits(float number) {
  return std::bit_cast<std::uint32_t>(number);
}

TEST(TensorCore, CutsTermsBelowTheLargestExponent) {
  // On 9.0 a term of 2^-25 beside 1 is kept, but a float has no room for it
  // until there are four of them.
  const float least = std::ldexp(1.0F, -25);
  EXPECT_EQ(Sum(90, 1, {{least, 1}}), 1);
  EXPECT_EQ(Sum(90, 1, {{least, 1}, {least, 1}, {least, 1}, {least, 1}}),
            1 + std::ldexp(1.0F, -23));
  // One bit less on 8.x: each term is 0.
  EXPECT_EQ(Sum(80, 1, {{least, 1}, {least, 1}, {least, 1}, {least, 1}}), 1);
  EXPECT_EQ(Sum(80, 1, {{2 * least, 1}, {2 * least, 1}}),
            1 + std::ldexp(1.0F, -23));
  // Cut, not rounded: to the smaller size on both sides of 0.
  EXPECT_EQ(
      Sum(90, 1, {{1.5F * least, 1}, {1.5F * least, 1}, {1.5F * least, 1}}), 1);
  EXPECT_EQ(Sum(90, -1, {{-least, 1}, {-least, 1}, {-least, 1}}), -1);
}

TEST(TensorCore, AddsSixteenAtOnceOrEightTwice) {
  // The first eight sum to 2^24 + 1, which a float has no room for.
  std::vector<std::array<float, 2>> pairs(16, {0, 0});
  pairs[0] = {4096, 4096};
  pairs[1] = {1, 1};
  pairs[8] = {-4096, 4096};
  EXPECT_EQ(Sum(90, 0, pairs), 1);
  EXPECT_EQ(Sum(80, 0, pairs), 0);
}

TEST(TensorCore, DoesNotNormaliseProducts) {
  // 1.5 x 1.5 = 2.25 counts as 2^0: a term of 2^-25 beside it is kept.
  const float least = std::ldexp(1.0F, -25);
  std::vector<std::array<float, 2>> pairs = {
      {1.5F, 1.5F}, {-1.5F, 1.5F}, {least, 1}};
  EXPECT_EQ(Sum(90, 0, pairs), least);
  // 2 x 1 has exponent 1, and cuts it.
  pairs[0] = {2, 1};
  pairs[1] = {-2, 1};
  EXPECT_EQ(Sum(90, 0, pairs), 0);
}

TEST(TensorCore, GivesAProductWithZeroNoExponent) {
  const float small = std::ldexp(1.0F, -60);
  EXPECT_EQ(Sum(90, 0, {{0, 0x1.8p100F}, {small, small}}),
            std::ldexp(1.0F, -120));
}

TEST(TensorCore, KeepsNumbersBelowTheNormalOnes) {
  const float least = std::bit_cast<float>(std::uint32_t{0x00010000});
  EXPECT_EQ(Sum(90, 0, {{least, 1}}), least);
  EXPECT_EQ(Sum(90, 0, {{least, 0x1p100F}}), least * 0x1p100F);
  EXPECT_EQ(Sum(90, 0, {{least, std::ldexp(1.0F, -16)}}),
            std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(Sum(90, std::numeric_limits<float>::denorm_min(), {}),
            std::numeric_limits<float>::denorm_min());
}

TEST(TensorCore, EndsInInfinityZeroAndNotANumberAsTheCardDoes) {
  const float large = 0x1p127F;
  EXPECT_EQ(Sum(90, 0, {{large, 2}}), kInfinite);
  EXPECT_EQ(Sum(90, 0, {{-large, 2}}), -kInfinite);
  // Just below 2^128 is cut to the largest float, not rounded up.
  EXPECT_EQ(Sum(90, std::numeric_limits<float>::max(), {{0x1p103F, 0.5F}}),
            std::numeric_limits<float>::max());
  EXPECT_EQ(Bits(Sum(90, -0.0F, {{-0.0F, 1}})), 0U);
  EXPECT_EQ(Sum(90, 1, {{kInfinite, 1}}), kInfinite);
  EXPECT_EQ(Sum(90, -kInfinite, {{large, 2}}), -kInfinite);
  for (const float none :
       {Sum(90, kInfinite, {{-kInfinite, 1}}), Sum(90, 0, {{kInfinite, 0}}),
        Sum(80, std::numeric_limits<float>::quiet_NaN(), {{1, 1}}),
        Sum(90, 1, {{1, -std::numeric_limits<float>::quiet_NaN()}})})
    EXPECT_EQ(Bits(none), 0x7fffffffU);
}

TEST(TensorCore, IsKnownForTwoGenerations) {
  EXPECT_EQ(TensorCoreOf(90)->products, 16);
  EXPECT_EQ(TensorCoreOf(89)->bits, 24);
  EXPECT_THAT(std::string(TensorCoreOf(75).status().message()),
              testing::HasSubstr("7.5: expected 8.0 to 8.9 or 9.0"));
}

// A number as an integer times 2^-400, which every product is.
struct Exact {
  Integer of;
  int exponent = 0;  // of its leading bit; of a product the factors' sum
  bool is_zero = true;
};

constexpr int kPoint = 400;

Exact ExactOf(float number) {
  int exponent = 0;
  const double fraction = std::frexp(number, &exponent);
  const auto digits = static_cast<std::int64_t>(std::ldexp(fraction, 30));
  return {.of = number == 0 ? Integer(0)
                            : Integer(digits) << (kPoint + exponent - 30),
          .exponent = number == 0 ? -126 : std::max(exponent - 1, -126),
          .is_zero = number == 0};
}

// Numbers cut at 2^-`bits` below an exponent.
Integer CutAt(const Integer& of, int exponent, int bits) {
  const Integer unit = Integer(1) << (kPoint + exponent - bits);
  return of / unit * unit;  // towards 0
}

float FloatOf(const Integer& of) {
  if (of == 0) return 0;
  const Integer size = abs(of);
  const int top = static_cast<int>(msb(size)) - kPoint;
  const Integer cut = CutAt(size, std::max(top, -126), 23);
  if (top >= 128) return of < 0 ? -kInfinite : kInfinite;
  const int low = std::max(top, -126) - 23;
  const auto digits =
      static_cast<std::int64_t>(cut >> static_cast<unsigned>(kPoint + low));
  return static_cast<float>(
      std::ldexp(static_cast<double>(of < 0 ? -digits : digits), low));
}

float ExactSum(const TensorCore& core, const TensorTerms& a,
               const TensorTerms& b, float c) {
  const auto number = [](std::uint16_t bits) {
    return ExactOf(std::bit_cast<float>(std::uint32_t{bits} << 16));
  };
  for (int first = 0; first < 16; first += core.products) {
    std::vector<Exact> terms = {ExactOf(c)};
    for (int k = first; k < first + core.products; ++k) {
      const Exact x = number(a[static_cast<std::size_t>(k)]);
      const Exact y = number(b[static_cast<std::size_t>(k)]);
      if (x.is_zero || y.is_zero) continue;
      terms.push_back({.of = x.of * y.of / (Integer(1) << kPoint),
                       .exponent = x.exponent + y.exponent,
                       .is_zero = false});
    }
    int largest = terms[0].exponent;
    for (const Exact& term : terms) largest = std::max(largest, term.exponent);
    Integer sum = 0;
    for (const Exact& term : terms) sum += CutAt(term.of, largest, core.bits);
    c = FloatOf(sum);
    if (std::isinf(c)) return c;  // finite terms change nothing
  }
  return c;
}

// As the probe of a card has them.
struct Sample {
  const char* name;
  int least, most;  // powers of two that normal numbers are multiplied by
  bool with_zeros;
  bool opposed;  // every second term is 0 in a and large in b
};

TEST(TensorCore, IsTheExactSumCutAsTheRulesSay) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  int compared = 0;
  for (const int capability : {90, 80})
    for (const Sample& sample :
         {Sample{"ordinary", -6, 6, false, false},
          Sample{"of all sizes", -30, 30, true, false},
          Sample{"below the normal", -75, -55, true, false},
          Sample{"zeros beside large", -60, -60, false, true},
          Sample{"overflowing", 50, 66, true, false}}) {
      const TensorCore core = *TensorCoreOf(capability);
      std::array<TensorTerms, 16> a;
      std::array<TensorTerms, 8> b;
      std::array<std::array<float, 8>, 16> sums = {};
      const auto draw = [&] {
        const int power =
            sample.least +
            static_cast<int>(random() % static_cast<unsigned>(
                                            sample.most - sample.least + 1));
        return sample.with_zeros && random() % 8 == 0
                   ? std::uint16_t{0}
                   : Bf16Of(normal(random) * std::ldexp(1.0F, power));
      };
      for (TensorTerms& row : a)
        for (std::uint16_t& x : row) x = draw();
      for (TensorTerms& column : b)
        for (std::uint16_t& x : column) x = draw();
      for (std::size_t k = 0; sample.opposed && k < 16; k += 2) {
        for (TensorTerms& row : a) row[k] = 0;
        for (TensorTerms& column : b) column[k] = Bf16Of(0x1.8p100F);
      }
      for (std::array<float, 8>& row : sums)
        for (float& c : row)
          c = normal(random) * std::ldexp(1.0F, sample.least + sample.most);
      const auto before = sums;
      MultiplyInTensorCore(core, a, b, sums);
      for (std::size_t row = 0; row < 16; ++row)
        for (std::size_t column = 0; column < 8; ++column) {
          ASSERT_EQ(
              Bits(sums[row][column]),
              Bits(ExactSum(core, a[row], b[column], before[row][column])))
              << sample.name << " " << capability << " " << row << " "
              << column;
          ++compared;
        }
    }
  EXPECT_EQ(compared, 2 * 5 * 128);
}

}  // namespace
}  // namespace banyan
