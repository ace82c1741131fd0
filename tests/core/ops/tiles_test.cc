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
#include "core/ops/cpu/linear_tiles-inl.h"
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
void MultiplyIn(const Shapes& shapes, Registers& r) {
  Tiles tiles(TileConfig(shapes.sums, shapes.left, shapes.right));
  tiles.template Load<1>(r.sums, 64);
  tiles.template Load<4>(r.left, 64);
  tiles.template Load<7>(r.right, 64);
  tiles.template MultiplyPairs<1, 4, 7>();
  tiles.template Store<1>(r.sums, 64);
}

}  // namespace
}  // namespace banyan
#endif  // BANYAN_TILES_TEST_ONCE_

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {
namespace {

void MultiplyMade(const Shapes& shapes, Registers& r) {
#if HWY_ARCH_X86_64
  MultiplyIn<MadeTiles>(shapes, r);
#endif
}

// Products of a row with panels of weights.
void InRegisters(const std::uint32_t* weights, std::size_t panel,
                 const SplitRows& x, std::size_t columns, int panels,
                 float* sums) {
#if HWY_ARCH_X86_64
  RunPairTiles<MadeTiles>({weights, panel}, x, columns, 1, panels, false, sums,
                          static_cast<std::size_t>(panels) * kLane);
#endif
}
void Alone(const std::uint32_t* weights, std::size_t panel, const SplitRows& x,
           std::size_t columns, int panels, float* sums) {
#if HWY_ARCH_X86_64
  RunPairRow({weights, panel}, x, columns, panels, sums);
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
HWY_EXPORT(InRegisters);
HWY_EXPORT(Alone);
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

// Bfloat16s of many sizes, zeros and subnormals among them.
std::uint16_t SomeBf16(Dice& dice) {
  const float size =
      dice.OneIn(4) ? std::ldexp(1.0F, dice.Between(-130, 30)) : 1.0F;
  if (dice.OneIn(16))
    return dice.OneIn(2) ? 0x8000 : static_cast<std::uint16_t>(dice.Below(128));
  return static_cast<std::uint16_t>(
      std::bit_cast<std::uint32_t>(dice.Signed() * size) >> 16);
}

Registers Random(Dice& dice) {
  Registers r;
  for (int row = 0; row < 16; ++row)
    for (int n = 0; n < 16; ++n) {
      At<float>(r.sums[row], n) =
          dice.OneIn(4) ? FromBf16(SomeBf16(dice)) : dice.Signed();
      for (int half : {0, 1}) {
        At<std::uint16_t>(r.left[row], 2 * n + half) = SomeBf16(dice);
        At<std::uint16_t>(r.right[row], 2 * n + half) = SomeBf16(dice);
      }
    }
  return r;
}

// Those of PairConfig() among them.
std::vector<Shapes> SomeShapes() {
  return {{{1, 64}, {1, 64}, {16, 64}},
          {{7, 64}, {7, 64}, {16, 64}},
          {{16, 64}, {16, 64}, {16, 64}},
          {{3, 64}, {3, 20}, {5, 64}},
          {{16, 64}, {16, 4}, {1, 64}}};
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
  for (const Shapes& shapes : SomeShapes())
    for (int i = 0; i < 100; ++i) {
      const Registers before = Random(dice);
      Registers expected = before;
      MultiplyPairsPlainly(shapes, expected);
      for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        Registers got = before;
        HWY_DISPATCH_TABLE(MultiplyMade)[PlaceOf(target)](shapes, got);
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
  for (const Shapes& shapes : SomeShapes())
    for (int i = 0; i < 1000; ++i) {
      Registers got = Random(dice);
      Registers expected = got;
      HWY_DISPATCH_TABLE(MultiplyMade)[Best()](shapes, expected);
      MultiplyIn<AmxTiles>(shapes, got);
      ExpectSame(got, expected, shapes);
    }
}

// A row alone is multiplied without registers.
TEST(Tiles, ARowAloneIsAsInRegisters) {
  Dice dice(4);
  for (int i = 0; i < 200; ++i) {
    const int panels = dice.Between(1, 4);
    const auto columns = static_cast<std::size_t>(dice.Between(1, 100));
    const std::size_t pairs = (columns + 1) / 2;
    const std::size_t panel = pairs * kLane;
    std::vector<std::uint32_t> weights(panel *
                                       static_cast<std::size_t>(panels));
    for (std::size_t at = 0; at < weights.size(); ++at) {
      const bool last = at % panel / kLane + 1 == pairs;
      weights[at] = SomeBf16(dice);
      if (!last || columns % 2 == 0)
        weights[at] |= std::uint32_t{SomeBf16(dice)} << 16;
    }
    const std::size_t stride =
        (columns + kPairColumns - 1) / kPairColumns * kPairColumns;
    std::vector<std::uint16_t> high(kRegisterRows * stride);
    std::vector<std::uint16_t> low(kRegisterRows * stride);
    std::vector<float> x(columns);
    for (float& number : x)
      number = dice.Signed() *
               (dice.OneIn(4) ? std::ldexp(1.0F, dice.Between(-140, 30)) : 1);
    const SplitRows rows = {high.data(), low.data(), stride};
    HWY_DISPATCH_TABLE(Split)[Best()](x.data(), columns, rows);
    const auto numbers = static_cast<std::size_t>(panels) * kLane;
    std::vector<float> expected(kRegisterRows * numbers);
    HWY_DISPATCH_TABLE(InRegisters)
    [Best()](weights.data(), panel, rows, columns, panels, expected.data());
    for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      std::vector<float> got(numbers);
      HWY_DISPATCH_TABLE(Alone)
      [PlaceOf(target)](weights.data(), panel, rows, columns, panels,
                        got.data());
      ASSERT_EQ(
          std::memcmp(got.data(), expected.data(), numbers * sizeof(float)), 0)
          << hwy::TargetName(target) << ", " << columns << " columns";
    }
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
    std::vector<std::uint16_t> high(kRegisterRows * stride, 1);
    std::vector<std::uint16_t> low(kRegisterRows * stride, 1);
    const SplitRows rows = {high.data(), low.data(), stride};
    HWY_DISPATCH_TABLE(Split)[Best()](x.data(), x.size(), rows);
    for (std::size_t k = 0; k < stride; ++k) {
      const std::size_t at =
          rows.Place(0, k / kPairColumns * kPairColumns) + k % kPairColumns;
      const double parts =
          double{FromBf16(high[at])} + double{FromBf16(low[at])};
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
