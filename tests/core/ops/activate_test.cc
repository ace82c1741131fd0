// Activate and Embed, and how good exp is.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/common.h"
#include "core/ops/backend.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

struct Activation {
  Numbers Run(Backend& backend, int first, int count) const {
    Desk desk(backend);
    ActivateArgs args = {.function = function,
                         .x = desk.Put(x.Rows(first, count), x_place)};
    args.y = in_place ? args.x : desk.Room(count, x.columns, y_place);
    if (up.rows > 0) args.up = desk.Put(up.Rows(first, count), up_place);
    if (base.rows > 0) {
      args.y = desk.Put(base.Rows(first, count), y_place);
      args.add = true;
    }
    const absl::Status status = backend.Activate(args);
    EXPECT_TRUE(status.ok()) << status;
    return desk.Take(args.y);
  }

  Nonlinearity function;
  Numbers x;
  Numbers up;
  Numbers base = {};  // what it is added to
  bool in_place = false;
  Place x_place = {};
  Place up_place = {};
  Place y_place = {};
};

// How far y = f(x) * up may be off. exp is good to 2 units; its argument, of
// size a, is rounded three times at most, which moves it by 3 a units. Beyond
// that come a sum, a quotient and four products: 16 units for all. Where exp
// leaves the normal numbers |f(x)| is below 2^-125 |x|, and nothing is asked
// beyond that; nor, of kGeluTanh, below 2^-52 |x|, where the reference's
// 1 + tanh, in double, has lost its digits.
double Bound(Nonlinearity function, double x, double up, double y) {
  const double argument =
      function == Nonlinearity::kSilu
          ? std::fabs(x)
          : 2 * std::sqrt(2 / M_PI) * std::fabs(x + 0.044715 * x * x * x);
  return (16 + 3 * std::fmin(argument, 100)) * kUnit * std::fabs(y) +
         std::fabs(x * up) *
             (function == Nonlinearity::kSilu ? 0x1p-125 : 0x1p-52) +
         (1 + std::fabs(up)) * kTiny;
}

void ExpectActivates(Fleet& fleet, const Activation& activation) {
  ExpectAgreement(
      fleet, activation.x.rows,
      [&](Backend& backend, int first, int count) {
        return activation.Run(backend, first, count);
      },
      [&](const Numbers& expected, const BackendFacts&) {
        std::vector<double> bound;
        for (std::size_t i = 0; i < expected.data.size(); ++i) {
          const double up = activation.up.rows > 0 ? activation.up.data[i] : 1;
          const double base =
              activation.base.rows > 0 ? activation.base.data[i] : 0;
          const double sum = expected.data[i];
          bound.push_back(
              Bound(activation.function, activation.x.data[i], up, sum - base) +
              (base == 0 ? 0 : 2 * kUnit * std::fabs(sum)));
        }
        return bound;
      },
      absl::StrCat("function ", static_cast<int>(activation.function), ", ",
                   activation.x.rows, " x ", activation.x.columns));
}

constexpr Nonlinearity kBoth[] = {Nonlinearity::kSilu, Nonlinearity::kGeluTanh};

TEST(ActivateTwins, AgreeOnAwkwardShapes) {
  Fleet fleet;
  Dice dice(1);
  for (Nonlinearity function : kBoth)
    for (int columns : {1, 2, 15, 16, 17, 31, 33, 63, 100, 257})
      for (int rows : {1, 2, 3, 17}) {
        Activation activation = {.function = function,
                                 .x = HardNumbers(rows, columns, 5, dice),
                                 .in_place = dice.OneIn(2),
                                 .x_place = RandomPlace(dice),
                                 .up_place = RandomPlace(dice),
                                 .y_place = RandomPlace(dice)};
        if (dice.OneIn(2)) activation.up = HardNumbers(rows, columns, 5, dice);
        if (!activation.in_place && dice.OneIn(2))
          activation.base = HardNumbers(rows, columns, 5, dice);
        ExpectActivates(fleet, activation);
      }
}

TEST(ActivateTwins, AgreeWhereThreadsShareTheWork) {
  Fleet fleet;
  Dice dice(2);
  for (Nonlinearity function : kBoth)
    for (int rows : {1, 33, 130})
      ExpectActivates(fleet, {.function = function,
                              .x = HardNumbers(rows, 257, 5, dice),
                              .up = HardNumbers(rows, 257, 5, dice)});
}

// Gate and up stand side by side in one matrix, as a projection leaves them.
TEST(ActivateTwins, ReadColumnsOfOneMatrix) {
  Fleet fleet;
  Dice dice(3);
  for (int columns : {1, 15, 16, 28, 52}) {
    const Numbers x = HardNumbers(5, columns, 5, dice);
    const Numbers up = HardNumbers(5, columns, 5, dice);
    Numbers both(5, 2 * columns);
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < columns; ++j) {
        both.at(i, j) = x.at(i, j);
        both.at(i, columns + j) = up.at(i, j);
      }
    for (const auto& backend : fleet.others()) {
      Desk desk(*backend);
      const Tensor matrix = desk.Put(both);
      const Tensor gate = matrix.Columns(0, columns);
      ASSERT_TRUE(backend
                      ->Activate({.function = Nonlinearity::kSilu,
                                  .x = gate,
                                  .up = matrix.Columns(columns, columns),
                                  .y = gate})
                      .ok());
      const Activation apart = {Nonlinearity::kSilu, x, up};
      EXPECT_TRUE(SameBits(desk.Take(gate), apart.Run(*backend, 0, 5)))
          << backend->description() << ", " << columns;
    }
  }
}

// Every sixteenth of [-128, 128), where exp overflows and underflows, and the
// ends of the floats.
Numbers Sweep() {
  Numbers x(8, 514);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 512; ++j)
      x.at(i, j) = static_cast<float>(i * 512 + j) / 16 - 128;
  const float far[] = {1e4F,   -1e4F,   1e10F, -1e10F, 1e12F, -1e12F,
                       3e-39F, -3e-39F, 30,    -30,    100,   -100,
                       88.7F,  -88.7F,  0,     -0.0F};
  for (int i = 0; i < 16; ++i) x.at(i / 2, 512 + i % 2) = far[i];
  return x;
}

TEST(ActivateTwins, AgreeOverAllArguments) {
  Fleet fleet;
  for (Nonlinearity function : kBoth)
    ExpectActivates(fleet, {.function = function, .x = Sweep()});
}

TEST(Activate, IsTheIdentityFarAboveAndNothingFarBelow) {
  Fleet fleet;
  Activation activation = {.function = Nonlinearity::kSilu, .x = Numbers(1, 4)};
  activation.x.data = {100, -100, 1e10F, -1e10F};
  for (const auto& backend : fleet.others()) {
    const Numbers silu = activation.Run(*backend, 0, 1);
    EXPECT_EQ(silu.at(0, 0), 100);
    EXPECT_LE(std::fabs(silu.at(0, 1)), 1e-36F);
    EXPECT_EQ(silu.at(0, 2), 1e10F);
    EXPECT_EQ(silu.at(0, 3), 0);
  }
  activation.function = Nonlinearity::kGeluTanh;
  activation.x.data = {30, -30, 1e10F, -1e10F};
  for (const auto& backend : fleet.others()) {
    const Numbers gelu = activation.Run(*backend, 0, 1);
    EXPECT_EQ(gelu.at(0, 0), 30);
    EXPECT_EQ(gelu.at(0, 1), 0);
    EXPECT_EQ(gelu.at(0, 2), 1e10F);
    EXPECT_EQ(gelu.at(0, 3), 0);
  }
}

// y[i] = table[ids[i]] is a copy of what a product would see, and `add` rounds
// once: the reference too.
TEST(EmbedTwins, AreEqual) {
  Fleet fleet;
  Dice dice(4);
  for (WeightFormat format :
       {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8})
    for (int columns : {1, 2, 15, 16, 17, 31, 33, 63, 100, 257})
      for (int batch : {1, 2, 9, 65}) {
        const bool add = dice.OneIn(2);
        Everywhere table(format,
                         HardNumbers(dice.Between(1, 50), columns, 12, dice));
        const Numbers before = HardNumbers(batch, columns, 12, dice);
        std::vector<int> ids;
        for (int i = 0; i < batch; ++i)
          ids.push_back(dice.Below(table.numbers().rows));
        const Place place = RandomPlace(dice);
        ExpectAgreement(
            fleet, batch,
            [&](Backend& backend, int first, int count) {
              Desk desk(backend);
              const Tensor y = desk.Put(before.Rows(first, count), place);
              const absl::Status status = backend.Embed(
                  {.ids = desk.List(
                       {ids.begin() + first, ids.begin() + first + count}),
                   .table = table.On(backend),
                   .y = y,
                   .add = add});
              EXPECT_TRUE(status.ok()) << status;
              return desk.Take(y);
            },
            [&](const Numbers& expected, const BackendFacts&) {
              return std::vector<double>(expected.data.size());
            },
            absl::StrCat(columns, " columns, batch ", batch));
      }
}

}  // namespace
}  // namespace banyan
