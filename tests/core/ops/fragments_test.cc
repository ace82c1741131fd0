// Which numbers of a product's matrices each lane holds, against another
// source: CUTLASS's include/cute/atom/mma_traits_sm80.hpp, where the traits
// SM80_16x8x16_F32BF16BF16F32_TN and SM80_16x8x32_S32S8S8S32_TN state the
// layouts of a, b and c as shapes and strides.
#include "core/ops/cuda/device/fragments.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/device/cuda/host_device.h"
#include "core/device/cuda/kernel.h"

namespace banyan {
namespace {

struct Axis {
  int size;
  int stride;
};

// From a lane and the number of one of its values to the place in the matrix,
// whose first index runs fastest: rows of a and c, columns of b.
struct Layout {
  int leading;  // how long the first index is
  std::array<Axis, 2> lanes;
  std::vector<Axis> values;

  int values_each() const {
    int count = 1;
    for (const Axis& axis : values) count *= axis.size;
    return count;
  }
  int At(int lane, int value) const {
    int at = 0;
    for (const Axis& axis : lanes) {
      at += lane % axis.size * axis.stride;
      lane /= axis.size;
    }
    for (const Axis& axis : values) {
      at += value % axis.size * axis.stride;
      value /= axis.size;
    }
    return at;
  }
};

struct Product {
  int each;  // values to a register
  Layout a;
  Layout b;
};

// 16 x 16 by 16 x 8 of bfloat16s, and 16 x 32 by 32 x 8 of signed bytes.
const Product kProducts[] = {
    {2,
     {16, {{{4, 32}, {8, 1}}}, {{2, 16}, {2, 8}, {2, 128}}},
     {8, {{{4, 16}, {8, 1}}}, {{2, 8}, {2, 64}}}},
    {4,
     {16, {{{4, 64}, {8, 1}}}, {{4, 16}, {2, 8}, {2, 256}}},
     {8, {{{4, 32}, {8, 1}}}, {{4, 8}, {2, 128}}}}};
const Layout kSums = {16, {{{4, 32}, {8, 1}}}, {{2, 16}, {2, 8}}};

// The column of a weight's tile that is the instruction's column: a lane has
// the same number of columns in both halves of the instruction's, which are
// neighbours in the tile.
int ColumnOf(int column, int each) {
  const int half = column / (4 * each);
  const int lane = column % (4 * each) / each;
  return (lane * 2 + half) * each + column % each;
}

TEST(Fragments, WeightTilesAreTheFirstMatrixAsCutlassHasIt) {
  for (const Product& product : kProducts)
    for (int lane = 0; lane < 32; ++lane)
      for (int value = 0; value < product.a.values_each(); ++value) {
        const int at = product.a.At(lane, value);
        const FragmentPlace place = InWeightTile(
            at % 16, ColumnOf(at / 16, product.each), product.each);
        EXPECT_EQ(place.lane, lane);
        EXPECT_EQ(place.word, value / product.each);
        EXPECT_EQ(place.part, value % product.each);
      }
}

// Small whole numbers, at a place of a matrix: sums are exact in any order.
int InA(int at) { return (at * 7 + at / 16 * 3) % 11 - 5; }
int InB(int at) { return (at * 5 + at / 8) % 9 - 4; }

std::uint32_t Bits(int number, int each) {
  return each == 2
             ? std::bit_cast<std::uint32_t>(static_cast<float>(number)) >> 16
             : static_cast<std::uint32_t>(number) & 0xffU;
}

// A lane's registers of a matrix whose numbers are `of`.
template <std::size_t kRegisters>
std::array<std::uint32_t, kRegisters> Held(const Layout& layout, int each,
                                           int lane, int (*of)(int)) {
  std::array<std::uint32_t, kRegisters> held = {};
  for (int value = 0; value < layout.values_each(); ++value)
    held[static_cast<std::size_t>(value / each)] |=
        Bits(of(layout.At(lane, value)), each) << (32 / each * (value % each));
  return held;
}

struct MultiplyOnce {
  static constexpr const char* kName = "multiply_once";
  const Product* product;
  std::array<int, 128>* sums;  // by place

  void operator()(const on_host::Thread& t) const {
    const auto a = Held<4>(product->a, product->each, t.lane(), InA);
    const auto b = Held<2>(product->b, product->each, t.lane(), InB);
    std::array<float, 4> c = {};
    std::array<std::int32_t, 4> bytes = {};
    if (product->each == 2)
      t.Multiply(a, b, c);
    else
      t.MultiplyBytes(a, b, bytes);
    for (std::size_t i = 0; i < 4; ++i)
      (*sums)[static_cast<std::size_t>(
          kSums.At(t.lane(), static_cast<int>(i)))] =
          product->each == 2 ? static_cast<int>(c[i]) : bytes[i];
  }
};

TEST(Fragments, TheHostDeviceMultipliesThemAsCutlassHasThem) {
  for (const Product& product : kProducts) {
    std::array<int, 128> sums = {};
    HostDevice device({});
    on_host::Launch(device, {}, MultiplyOnce{&product, &sums});
    ASSERT_TRUE(device.Finish().ok());
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) {
        int sum = 0;
        for (int k = 0; k < 8 * product.each; ++k)
          sum += InA(row + 16 * k) * InB(column + 8 * k);
        EXPECT_EQ(sums[static_cast<std::size_t>(row + 16 * column)], sum)
            << product.each << ": " << row << ", " << column;
      }
  }
}

// Every row is stored once, a pair eight rows apart in one tile, and the others
// in their order after all pairs.
TEST(RowOrder, KeepsPairsSideBySide) {
  for (const RowOrder& order :
       {RowOrder{40, 0, 0}, RowOrder{40, 20, 20}, RowOrder{50, 20, 4},
        RowOrder{33, 11, 11}, RowOrder{100, 36, 6}}) {
    std::vector<int> seen(static_cast<std::size_t>(order.rows));
    int others = 2 * order.pairs;
    for (int stored = 0; stored < order.stored(); ++stored) {
      const int row = order.Row(stored);
      if (row < 0) continue;
      EXPECT_EQ(order.Stored(row), stored);
      ++seen[static_cast<std::size_t>(row)];
      if (row >= 2 * order.pairs) {
        EXPECT_EQ(row, others++);
      } else if (stored % 16 < 8) {
        EXPECT_EQ(order.Row(stored + 8), row + order.distance);
        EXPECT_EQ(order.Low(stored / 16 * 8 + stored % 8), row);
      }
    }
    EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(order.rows), 1));
  }
}

}  // namespace
}  // namespace banyan
