// Norm and Rotate on every backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/common.h"
#include "core/ops/backend.h"
#include "core/ops/op_args.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

struct Normed {
  Numbers Run(Backend& backend, int first, int count) const {
    Desk desk(backend);
    NormArgs args = {.x = desk.Put(x.Rows(first, count), x_place),
                     .weight = desk.Put(weight),
                     .epsilon = epsilon,
                     .center = center};
    if (bias.rows > 0) args.bias = desk.Put(bias);
    args.y = in_place ? args.x : desk.Room(count, x.columns, y_place);
    const absl::Status status = backend.Norm(args);
    EXPECT_TRUE(status.ok()) << status;
    return desk.Take(args.y);
  }

  Numbers x;
  Numbers weight;
  Numbers bias;
  float epsilon = 1e-5F;
  bool center = false;
  bool in_place = false;
  Place x_place = {};
  Place y_place = {};
};

// A sum of n numbers over sixteen lanes meets n / 16 + 5 roundings. So the mean
// is off by n / 16 + 6 units of the mean magnitude, and each centred number by
// that and a unit of its own: `shift`. Relative to their root mean square s
// that moves s by no more than shift / s, and the sum of squares, the root and
// two products add n / 32 + 8 units to each number; the bias adds a unit of
// what results. Second orders are covered by the factor 2, for as long as shift
// is small beside s, which epsilon sees to.
std::vector<double> NormBounds(const Normed& norm, const Numbers& expected) {
  const int n = norm.x.columns;
  std::vector<double> bounds;
  for (int i = 0; i < norm.x.rows; ++i) {
    const float* x = norm.x.row(i);
    double mean = 0;
    double size = 0;
    for (int j = 0; j < n; ++j) {
      mean += norm.center ? double{x[j]} / n : 0;
      size += std::fabs(double{x[j]}) / n;
    }
    double squares = 0;
    for (int j = 0; j < n; ++j) squares += (x[j] - mean) * (x[j] - mean) / n;
    const double s = std::sqrt(squares + norm.epsilon);
    for (int j = 0; j < n; ++j) {
      const double number = std::fabs(x[j] - mean);
      const double shift =
          norm.center ? kUnit * ((n / 16.0 + 6) * size + number) : 0;
      const double relative = shift / s + (n / 32.0 + 8) * kUnit;
      const double weight = std::fabs(double{norm.weight.at(0, j)});
      bounds.push_back(2 * (weight / s * (shift + number * relative) +
                            kUnit * std::fabs(double{expected.at(i, j)})) +
                       (4 + weight * (1 + 1 / s)) * kTiny);
    }
  }
  return bounds;
}

void ExpectNorms(Fleet& fleet, const Normed& norm) {
  ExpectAgreement(
      fleet, norm.x.rows,
      [&](Backend& backend, int first, int count) {
        return norm.Run(backend, first, count);
      },
      [&](const Numbers& expected, const BackendFacts&) {
        return NormBounds(norm, expected);
      },
      absl::StrCat(norm.center ? "layer norm" : "root mean square norm", ", ",
                   norm.x.rows, " x ", norm.x.columns));
}

Normed RandomNorm(int rows, int columns, bool center, Dice& dice) {
  Normed norm = {.x = HardNumbers(rows, columns, 12, dice),
                 .weight = HardNumbers(1, columns, 6, dice),
                 .epsilon = dice.OneIn(2) ? 1e-5F : 1e-6F,
                 .center = center,
                 .in_place = dice.OneIn(2),
                 .x_place = RandomPlace(dice),
                 .y_place = RandomPlace(dice)};
  if (dice.OneIn(2)) norm.bias = HardNumbers(1, columns, 6, dice);
  return norm;
}

TEST(NormTwins, AgreeOnAwkwardShapes) {
  Fleet fleet;
  Dice dice(1);
  for (bool center : {false, true})
    for (int columns : {1, 2, 15, 16, 17, 31, 33, 63, 100, 257})
      for (int rows : {1, 2, 3, 9, 17})
        ExpectNorms(fleet, RandomNorm(rows, columns, center, dice));
}

TEST(NormTwins, AgreeWhereThreadsShareTheWork) {
  Fleet fleet;
  Dice dice(2);
  for (bool center : {false, true})
    for (int rows : {64, 130, 256})
      ExpectNorms(fleet, RandomNorm(rows, 257, center, dice));
}

// A mean far above the spread: the variance must not be a difference of
// squares.
TEST(NormTwins, AgreeWhereTheMeanIsFarAboveTheSpread) {
  Fleet fleet;
  Dice dice(3);
  for (int columns : {16, 33, 257}) {
    Normed norm = {.x = SoftNumbers(5, columns, 1, dice),
                   .weight = SoftNumbers(1, columns, 1, dice),
                   .center = true};
    for (float& x : norm.x.data) x += 1000;
    ExpectNorms(fleet, norm);
  }
}

struct Rotated {
  Numbers Run(Backend& backend, int first, int count) const {
    Desk desk(backend);
    const Tensor tensor = desk.Put(x.Rows(first, count), place);
    RotateArgs args = {
        .x = tensor, .head_dim = head_dim, .epsilon = epsilon, .scale = scale};
    if (angles.rows > 0) args.angles = desk.Put(angles.Rows(first, count));
    if (norm_weight.rows > 0) args.norm_weight = desk.Put(norm_weight);
    const absl::Status status = backend.Rotate(args);
    EXPECT_TRUE(status.ok()) << status;
    return desk.Take(tensor);
  }

  Numbers x;
  int head_dim = 0;
  Numbers angles;
  Numbers norm_weight;
  float epsilon = 1e-6F;
  float scale = 1;
  Place place = {};
};

// The norm meets head_dim / 32 + 8 roundings (NormBounds), the rotation three
// in each of two products and the scale one: all relative to the length of the
// pair, which the rotation keeps up to the rounding of its angles. A number is
// at most that length, and a sum of two sqrt(2) times it.
std::vector<double> RotateBounds(const Rotated& rotated,
                                 const Numbers& expected) {
  const int half = rotated.head_dim / 2;
  std::vector<double> bounds;
  for (int i = 0; i < expected.rows; ++i)
    for (int j = 0; j < expected.columns; ++j) {
      const int other = j % rotated.head_dim < half ? j + half : j - half;
      const double length =
          std::hypot(expected.at(i, j), expected.at(i, other));
      bounds.push_back(1.5 * (rotated.head_dim / 32.0 + 16) * kUnit * length +
                       8 * kTiny * (1 + std::fabs(rotated.scale)) *
                           (1 + 1 / std::sqrt(rotated.epsilon)));
    }
  return bounds;
}

Rotated RandomRotation(int rows, int heads, int head_dim, Dice& dice) {
  Rotated rotated = {.x = HardNumbers(rows, heads * head_dim, 12, dice),
                     .head_dim = head_dim,
                     .scale = dice.OneIn(2) ? 1.0F : 0.17677669F,
                     .place = RandomPlace(dice)};
  if (!dice.OneIn(3)) {
    rotated.angles = Numbers(rows, head_dim);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < head_dim / 2; ++j) {
        const double angle = 300.0 * dice.Signed();
        rotated.angles.at(i, j) = static_cast<float>(std::cos(angle));
        rotated.angles.at(i, j + head_dim / 2) =
            static_cast<float>(std::sin(angle));
      }
  }
  if (dice.OneIn(2)) rotated.norm_weight = HardNumbers(1, head_dim, 4, dice);
  return rotated;
}

void ExpectRotates(Fleet& fleet, const Rotated& rotated) {
  ExpectAgreement(
      fleet, rotated.x.rows,
      [&](Backend& backend, int first, int count) {
        return rotated.Run(backend, first, count);
      },
      [&](const Numbers& expected, const BackendFacts&) {
        return RotateBounds(rotated, expected);
      },
      absl::StrCat(rotated.x.rows, " x ", rotated.x.columns, ", heads of ",
                   rotated.head_dim, rotated.angles.rows > 0 ? ", angles" : "",
                   rotated.norm_weight.rows > 0 ? ", norm" : ""));
}

TEST(RotateTwins, AgreeOnAwkwardShapes) {
  Fleet fleet;
  Dice dice(4);
  for (int head_dim : {2, 6, 8, 10, 30, 34, 64, 80, 128})
    for (int heads : {1, 2, 3, 5, 8})
      for (int rows : {1, 2, 9})
        ExpectRotates(fleet, RandomRotation(rows, heads, head_dim, dice));
}

TEST(RotateTwins, AgreeWhereThreadsShareTheWork) {
  Fleet fleet;
  Dice dice(5);
  for (int rows : {65, 130, 256})
    for (int i = 0; i < 4; ++i)
      ExpectRotates(fleet, RandomRotation(rows, 6, 80, dice));
}

// Queries, keys and values stand side by side: turning the queries and keys
// leaves the others alone.
TEST(RotateTwins, TurnColumnsOfOneMatrix) {
  Fleet fleet;
  Dice dice(6);
  for (int head_dim : {2, 6, 10, 16}) {
    const int columns = 3 * head_dim;
    Rotated rotated = RandomRotation(7, 3, head_dim, dice);
    Numbers all = HardNumbers(7, 3 * columns, 8, dice);
    for (int i = 0; i < 7; ++i)
      std::copy_n(rotated.x.row(i), columns, all.row(i) + columns);
    for (const auto& backend : fleet.others()) {
      Desk desk(*backend);
      const Tensor part = desk.Put(all).Columns(columns, columns);
      RotateArgs args = {.x = part,
                         .head_dim = head_dim,
                         .epsilon = rotated.epsilon,
                         .scale = rotated.scale};
      if (rotated.angles.rows > 0) args.angles = desk.Put(rotated.angles);
      if (rotated.norm_weight.rows > 0)
        args.norm_weight = desk.Put(rotated.norm_weight);
      ASSERT_TRUE(backend->Rotate(args).ok());
      EXPECT_TRUE(SameBits(desk.Take(part), rotated.Run(*backend, 0, 7)))
          << backend->description() << ", " << head_dim;
    }
  }
}

}  // namespace
}  // namespace banyan
