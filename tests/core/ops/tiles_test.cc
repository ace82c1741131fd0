// Tile registers: those made in vectors against plain loops, those of the
// processor, where it has them, against the made ones.
#include "core/ops/cpu/tiles.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/dice.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/core/ops/tiles_test.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which Highway wants.
#include "core/ops/cpu/tiles-inl.h"
#include "hwy/highway.h"

#ifndef BANYAN_TILES_TEST_ONCE_
#define BANYAN_TILES_TEST_ONCE_
namespace banyan {
namespace {

// What a product of registers reads and makes: rows of 64 bytes.
struct Registers {
  alignas(64) std::uint8_t left[16][64];
  alignas(64) std::uint8_t right[16][64];
  alignas(64) std::uint8_t sums[16][64];
};

struct Shapes {
  TileConfig::Shape sums;
  TileConfig::Shape left;
  TileConfig::Shape right;
};

// Registers 1, 4 and 7, loaded, multiplied and stored.
template <class Tiles>
void MultiplyIn(const Shapes& shapes, bool pairs, Registers& r) {
  Tiles tiles(TileConfig(shapes.sums, shapes.left, shapes.right));
  tiles.template Load<1>(r.sums, 64);
  tiles.template Load<4>(r.left, 64);
  tiles.template Load<7>(r.right, 64);
  if (pairs)
    tiles.template MultiplyPairs<1, 4, 7>();
  else
    tiles.template MultiplyFours<1, 4, 7>();
  tiles.template Store<1>(r.sums, 64);
}

}  // namespace
}  // namespace banyan
#endif  // BANYAN_TILES_TEST_ONCE_

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {
namespace {

void MultiplyMade(const Shapes& shapes, bool pairs, Registers& r) {
#if HWY_ARCH_X86_64
  MultiplyIn<MadeTiles>(shapes, pairs, r);
#endif
}

// One row in two parts.
void Split(const float* x, std::size_t size, const SplitRows& out) {
  SplitRow(x, size, 0, out);
}

}  // namespace
}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace banyan {
namespace {

HWY_EXPORT(MultiplyMade);
HWY_EXPORT(Split);

// A target's place in Highway's tables.
std::size_t PlaceOf(std::int64_t target) {
  hwy::ChosenTarget chosen;
  chosen.Update(target);
  return chosen.GetIndex();
}
std::size_t Best() {
  return PlaceOf(hwy::SupportedAndGeneratedTargets().front());
}

float FromBf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

template <class Number>
Number& At(std::uint8_t* row, int place) {
  return *(reinterpret_cast<Number*>(row) + place);
}

// As the processor's manual has it, a number at a time.
float Flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min()
             ? std::copysign(0.0F, x)
             : x;
}

// The fused multiply-add of a processor that flushes: whether a result is
// subnormal shows once it is rounded to 24 bits. Doubles hold the product of
// two bfloat16s exactly.
float FlushedFma(float a, float b, float c) {
  const double exact = double{Flushed(a)} * double{Flushed(b)};
  if (Flushed(c) == 0 && exact != 0) {
    // Nothing else is added: 24 bits hold the product of 8 and 8.
    return Flushed(static_cast<float>(exact));
  }
  return Flushed(std::fma(Flushed(a), Flushed(b), Flushed(c)));
}

void MultiplyPairsPlainly(const Shapes& shapes, Registers& r) {
  for (int m = 0; m < shapes.sums.rows; ++m)
    for (int n = 0; n < shapes.sums.bytes / 4; ++n) {
      float even = 0;
      float odd = 0;
      for (int k = 0; k < shapes.right.rows; ++k) {
        even = FlushedFma(FromBf16(At<std::uint16_t>(r.left[m], 2 * k)),
                          FromBf16(At<std::uint16_t>(r.right[k], 2 * n)), even);
        odd =
            FlushedFma(FromBf16(At<std::uint16_t>(r.left[m], 2 * k + 1)),
                       FromBf16(At<std::uint16_t>(r.right[k], 2 * n + 1)), odd);
      }
      float& sum = At<float>(r.sums[m], n);
      sum = Flushed(Flushed(sum) + Flushed(even + odd));
    }
}

void MultiplyFoursPlainly(const Shapes& shapes, Registers& r) {
  for (int m = 0; m < shapes.sums.rows; ++m)
    for (int n = 0; n < shapes.sums.bytes / 4; ++n)
      for (int k = 0; k < 4 * shapes.right.rows; ++k)
        At<std::int32_t>(r.sums[m], n) += int{At<std::int8_t>(r.left[m], k)} *
                                          int{r.right[k / 4][4 * n + k % 4]};
}

// Bfloat16s of many sizes, zeros and subnormals among them.
std::uint16_t SomeBf16(Dice& dice) {
  const float size =
      dice.OneIn(4) ? std::ldexp(1.0F, dice.Between(-130, 30)) : 1.0F;
  if (dice.OneIn(16))
    return dice.OneIn(2) ? 0x8000 : static_cast<std::uint16_t>(dice.Below(128));
  return static_cast<std::uint16_t>(
      std::bit_cast<std::uint32_t>(dice.Signed() * size) >> 16);
}

Registers Random(bool pairs, Dice& dice) {
  Registers r;
  for (int row = 0; row < 16; ++row)
    for (int i = 0; i < 64; ++i) {
      r.left[row][i] = static_cast<std::uint8_t>(dice.Below(256));
      r.right[row][i] = static_cast<std::uint8_t>(dice.Below(256));
    }
  for (int row = 0; row < 16; ++row)
    for (int n = 0; n < 16; ++n) {
      if (!pairs) {
        At<std::int32_t>(r.sums[row], n) = dice.Between(-1000, 1000);
        continue;
      }
      At<float>(r.sums[row], n) =
          dice.OneIn(4) ? FromBf16(SomeBf16(dice)) : dice.Signed();
      for (int half : {0, 1}) {
        At<std::uint16_t>(r.left[row], 2 * n + half) = SomeBf16(dice);
        At<std::uint16_t>(r.right[row], 2 * n + half) = SomeBf16(dice);
      }
    }
  return r;
}

// Those of PairConfig() and FourConfig() among them.
std::vector<Shapes> PairShapes() {
  return {{{1, 64}, {1, 64}, {16, 64}},
          {{7, 64}, {7, 64}, {16, 64}},
          {{16, 64}, {16, 64}, {16, 64}},
          {{3, 64}, {3, 20}, {5, 64}},
          {{16, 64}, {16, 4}, {1, 64}}};
}
std::vector<Shapes> FourShapes() {
  return {{{1, 64}, {1, 32}, {8, 64}},
          {{15, 64}, {15, 32}, {8, 64}},
          {{16, 64}, {16, 32}, {8, 64}},
          {{5, 64}, {5, 64}, {16, 64}}};
}

void ExpectSame(const Registers& got, const Registers& expected,
                const Shapes& shapes) {
  for (int m = 0; m < shapes.sums.rows; ++m)
    ASSERT_EQ(std::memcmp(got.sums[m], expected.sums[m],
                          static_cast<std::size_t>(shapes.sums.bytes)),
              0)
        << "row " << m << " of " << shapes.sums.rows;
}

#if defined(__x86_64__)
TEST(Tiles, MadeOnesMultiplyAsTheManualHasIt) {
  Dice dice(1);
  for (bool pairs : {true, false})
    for (const Shapes& shapes : pairs ? PairShapes() : FourShapes())
      for (int i = 0; i < 100; ++i) {
        const Registers before = Random(pairs, dice);
        Registers expected = before;
        pairs ? MultiplyPairsPlainly(shapes, expected)
              : MultiplyFoursPlainly(shapes, expected);
        for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
          Registers got = before;
          HWY_DISPATCH_TABLE(MultiplyMade)[PlaceOf(target)](shapes, pairs, got);
          SCOPED_TRACE(hwy::TargetName(target));
          ExpectSame(got, expected, shapes);
        }
      }
}

TEST(Tiles, TheProcessorsAreTheMadeOnes) {
  if (AskForAmx() != AmxState::kAllowed)
    GTEST_SKIP()
        << "this processor has no AMX, or the system does not allow it";
  Dice dice(2);
  for (bool pairs : {true, false})
    for (const Shapes& shapes : pairs ? PairShapes() : FourShapes())
      for (int i = 0; i < 1000; ++i) {
        Registers got = Random(pairs, dice);
        Registers expected = got;
        HWY_DISPATCH_TABLE(MultiplyMade)[Best()](shapes, pairs, expected);
        MultiplyIn<AmxTiles>(shapes, pairs, got);
        ExpectSame(got, expected, shapes);
      }
}
#endif

TEST(Tiles, TwoPartsAreCloseToANumber) {
  Dice dice(3);
  for (int i = 0; i < 1000; ++i) {
    std::vector<float> x(static_cast<std::size_t>(dice.Between(1, 70)));
    for (float& number : x)
      number = std::ldexp(dice.Signed(), dice.Between(-100, 120));
    const std::size_t stride =
        (x.size() + kPairColumns - 1) / kPairColumns * kPairColumns;
    std::vector<std::uint16_t> high(stride, 1);
    std::vector<std::uint16_t> low(stride, 1);
    HWY_DISPATCH_TABLE(Split)
    [Best()](x.data(), x.size(), {high.data(), low.data(), stride});
    for (std::size_t k = 0; k < stride; ++k) {
      const double parts = double{FromBf16(high[k])} + double{FromBf16(low[k])};
      const double wanted = k < x.size() ? double{x[k]} : 0.0;
      ASSERT_LE(std::fabs(parts - wanted), 0x1p-17 * std::fabs(wanted)) << x[k];
    }
  }
}

TEST(Tiles, LargeNumbersStayFiniteInParts) {
  for (float large :
       {std::numeric_limits<float>::max(), -3.396e38F, 3.3896e38F}) {
    std::vector<std::uint16_t> high(kPairColumns);
    std::vector<std::uint16_t> low(kPairColumns);
    HWY_DISPATCH_TABLE(Split)
    [Best()](&large, 1, {high.data(), low.data(), kPairColumns});
    const double parts = double{FromBf16(high[0])} + double{FromBf16(low[0])};
    EXPECT_LE(std::fabs(parts - double{large}),
              0x1p-15 * std::fabs(double{large}));
  }
}

TEST(Tiles, WhatIsNotFiniteIsNotLostInParts) {
  for (float odd :
       {std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity(), std::nanf(""),
        std::bit_cast<float>(0x7fffffffU), std::bit_cast<float>(0xff800001U)}) {
    std::vector<std::uint16_t> high(kPairColumns);
    std::vector<std::uint16_t> low(kPairColumns);
    HWY_DISPATCH_TABLE(Split)
    [Best()](&odd, 1, {high.data(), low.data(), kPairColumns});
    EXPECT_FALSE(std::isfinite(FromBf16(high[0]) + FromBf16(low[0])));
  }
}

}  // namespace
}  // namespace banyan
#endif  // HWY_ONCE
