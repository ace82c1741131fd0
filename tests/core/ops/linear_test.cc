// Linear: against the reference, against the cpu's order of sums to the last
// bit, and alike everywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/ops/backend.h"
#include "core/ops/host/host_weight.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

struct Shape {
  int batch;
  int columns;
  int rows;  // of the weight
};

// A product with everything it reads.
struct Product {
  Product(WeightFormat some_format, const Shape& some_shape, bool with_bias,
          bool adds, Dice& dice)
      : format(some_format),
        shape(some_shape),
        add(adds),
        x(HardNumbers(shape.batch, shape.columns, 12, dice)),
        weight(format, HardNumbers(shape.rows, shape.columns, 12, dice)),
        before(HardNumbers(shape.batch, shape.rows, 12, dice)),
        x_place(RandomPlace(dice)),
        y_place(RandomPlace(dice)) {
    if (with_bias) bias = HardNumbers(1, shape.rows, 12, dice);
  }

  Numbers Run(Backend& backend, int first, int count) {
    Desk desk(backend);
    const Tensor y = desk.Put(before.Rows(first, count), y_place);
    const absl::Status status =
        backend.Linear({.x = desk.Put(x.Rows(first, count), x_place),
                        .weight = weight.On(backend),
                        .bias = bias.rows > 0 ? desk.Put(bias) : Tensor{},
                        .y = y,
                        .add = add});
    EXPECT_TRUE(status.ok()) << status;
    return desk.Take(y);
  }

  std::string name() const {
    return absl::StrCat("format ", static_cast<int>(format), ", batch ",
                        shape.batch, ", ", shape.columns, " columns to ",
                        shape.rows, bias.rows > 0 ? ", bias" : "",
                        add ? ", add" : "");
  }

  WeightFormat format;
  Shape shape;
  bool add;
  Numbers x;
  Everywhere weight;
  Numbers bias;
  Numbers before;
  Place x_place;
  Place y_place;
};

// The weight as products see it.
std::unique_ptr<HostWeight> Packed(const Product& product) {
  const Numbers& numbers = product.weight.numbers();
  auto packed =
      HostWeight::Pack(product.format, numbers.rows, numbers.columns,
                       [&](int first, int count, float* out) {
                         const Numbers some = numbers.Rows(first, count);
                         std::copy(some.data.begin(), some.data.end(), out);
                         return absl::OkStatus();
                       });
  Check(packed.ok(), packed.status().message());
  return *std::move(packed);
}

// A row of activations as the contract of kQ8 has it.
struct QuantisedRow {
  QuantisedRow(const float* x, int columns) : quants(columns) {
    for (int first = 0; first < columns; first += kQ8Block) {
      const int end = std::min(first + kQ8Block, columns);
      float largest = 0;
      for (int k = first; k < end; ++k)
        largest = std::max(largest, std::fabs(x[k]));
      scales.push_back(largest / 127.0F);
      for (int k = first; k < end; ++k)
        quants[static_cast<std::size_t>(k)] =
            largest < kQ8Least
                ? 0
                : static_cast<int>(std::nearbyint(x[k] * (127.0F / largest)));
    }
  }
  std::vector<int> quants;
  std::vector<float> scales;
};

// Sums of row i with row j of the weight: in the cpu's order (linear_cpu.cc),
// and the sum of the magnitudes of what is added.
struct Sums {
  float sum = 0;
  double magnitude = 0;

  void Add(float a, float b) {
    sum = std::fma(a, b, sum);
    magnitude += std::fabs(double{a} * double{b});
  }
};

Sums Dot(const float* x, const float* w, int columns) {
  Sums sums;
  for (int k = 0; k < columns; ++k) sums.Add(x[k], w[k]);
  return sums;
}

Sums DotQ8(const QuantisedRow& x, const HostWeight& weight, int row) {
  Sums sums;
  const int columns = weight.columns();
  for (int first = 0; first < columns; first += kQ8Block) {
    const int block = first / kQ8Block;
    int whole = 0;
    for (int k = first; k < std::min(first + kQ8Block, columns); ++k)
      whole += x.quants[static_cast<std::size_t>(k)] * weight.Quant(row, k);
    sums.Add(
        static_cast<float>(whole) * x.scales[static_cast<std::size_t>(block)],
        weight.Scale(row, block));
  }
  return sums;
}

// The same in the order of tile registers (linear_tiles-inl.h), which count
// what is below the normal numbers as 0.
float Flushed(float x) {
  return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x;
}

float NearestBf16(float x) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x8000) &
                              0xffff0000U);
}

float DotTiles(const float* x, const float* w, int columns) {
  float sum = 0;
  for (int first = 0; first < columns; first += 32)
    for (bool low : {false, true}) {
      float halves[2] = {0, 0};
      for (int k = first; k < std::min(first + 32, columns); ++k) {
        const float high = NearestBf16(x[k]);
        const float part = low ? NearestBf16(x[k] - high) : high;
        float& half = halves[k % 2];
        half = Flushed(std::fma(Flushed(part), Flushed(w[k]), half));
      }
      sum = Flushed(sum + Flushed(halves[0] + halves[1]));
    }
  return sum;
}

struct Exact {
  Numbers y;
  std::vector<double> magnitudes;
};

Exact InCpuOrder(const Product& product) {
  const std::unique_ptr<HostWeight> packed = Packed(product);
  const auto& [batch, columns, rows] = product.shape;
  Numbers weight(rows, columns);
  for (int j = 0; j < rows; ++j) {
    std::vector<float> row(static_cast<std::size_t>(columns));
    packed->ReadRow(j, row.data());
    std::copy(row.begin(), row.end(), weight.row(j));
  }
  Exact exact = {Numbers(batch, rows), {}};
  for (int i = 0; i < batch; ++i) {
    const QuantisedRow quantised(product.x.row(i), columns);
    for (int j = 0; j < rows; ++j) {
      Sums sums = product.format == WeightFormat::kQ8
                      ? DotQ8(quantised, *packed, j)
                      : Dot(product.x.row(i), weight.row(j), columns);
      sums.Add(0, 1);  // turns -0 into +0
      if (product.bias.rows > 0) sums.Add(product.bias.at(0, j), 1);
      if (product.add) sums.Add(product.before.at(i, j), 1);
      exact.y.at(i, j) = sums.sum;
      exact.magnitudes.push_back(sums.magnitude);
    }
  }
  return exact;
}

void ExpectInTileOrder(Product& product, Backend& backend) {
  const std::unique_ptr<HostWeight> packed = Packed(product);
  const auto& [batch, columns, rows] = product.shape;
  Numbers expected(batch, rows);
  for (int j = 0; j < rows; ++j) {
    std::vector<float> weight(static_cast<std::size_t>(columns));
    packed->ReadRow(j, weight.data());
    for (int i = 0; i < batch; ++i) {
      float sum = DotTiles(product.x.row(i), weight.data(), columns) + 0.0F;
      if (product.bias.rows > 0) sum += product.bias.at(0, j);
      if (product.add) sum += product.before.at(i, j);
      expected.at(i, j) = sum;
    }
  }
  EXPECT_TRUE(SameBits(product.Run(backend, 0, batch), expected))
      << product.name() << ", in the order of tiles";
}

// What two bfloat16 parts of a number leave out of it at most (tiles-inl.h).
constexpr double kPartsUnit = 0x1p-17;

// The order of sums fixes every bit of the cpu's. The reference, whose sums are
// in double, is off by its own rounding at the end; a kernel by one for each of
// at most columns + 2 numbers added, each relative to a partial sum that is at
// most the sum of the magnitudes, and with kQ8 by the product of sum and scale.
// Below the normal numbers each rounding costs at most kTiny, times a weight's
// scale, which is below 2^12 here; in tile registers such numbers count as 0.
void ExpectInOrder(Fleet& fleet, Product& product) {
  const Exact exact = InCpuOrder(product);
  const Numbers got = ExpectAgreement(
      fleet, product.shape.batch,
      [&](Backend& backend, int first, int count) {
        return product.Run(backend, first, count);
      },
      [&](const Numbers& /*expected*/, const BackendFacts& other) {
        std::vector<double> bound = exact.magnitudes;
        const double roundings = product.shape.columns + 4;
        const bool rounds =
            other.rounds_to_bf16 && product.format == WeightFormat::kBf16;
        const bool splits =
            other.sums == "tiles" && product.format == WeightFormat::kBf16;
        const double unit = roundings * 1.01 * kUnit +
                            (rounds ? 1.01 * kBf16Unit : 0) +
                            (splits ? 1.01 * kPartsUnit : 0);
        const double tiny = splits ? 0x1p-126 : rounds ? kBf16Tiny : kTiny;
        for (double& magnitude : bound)
          magnitude = unit * magnitude + roundings * 0x1p12 * tiny;
        return bound;
      },
      product.name());
  EXPECT_TRUE(SameBits(got, exact.y)) << product.name() << ", in order";
  if (product.format != WeightFormat::kBf16) return;
  for (const Kin& kin : fleet.kin)
    if (kin.backends.front()->facts().sums == "tiles")
      ExpectInTileOrder(product, *kin.backends.front());
}

const std::vector<int>& AwkwardSizes() {
  static const std::vector<int> sizes = {1,  2,  15, 16,  17,
                                         31, 33, 63, 100, 257};
  return sizes;
}

class LinearTwins : public testing::TestWithParam<WeightFormat> {
 protected:
  Fleet fleet_;
  Dice dice_{static_cast<std::uint64_t>(GetParam())};
};

TEST_P(LinearTwins, AgreeOnAwkwardShapes) {
  for (int columns : AwkwardSizes())
    for (int rows : AwkwardSizes()) {
      const int batch = dice_.Between(1, columns * rows > 5000 ? 3 : 9);
      Product product(GetParam(), {batch, columns, rows}, dice_.OneIn(2),
                      dice_.OneIn(2), dice_);
      ExpectInOrder(fleet_, product);
    }
}

TEST_P(LinearTwins, AgreeOnBatchesOfAnySize) {
  for (int batch :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 33, 64, 65, 130, 256}) {
    Product product(GetParam(), {batch, 37, 49}, batch % 2 == 0, batch % 3 == 0,
                    dice_);
    ExpectInOrder(fleet_, product);
  }
}

// Large enough that threads share the rows of the weight, and that columns are
// taken in several stretches.
TEST_P(LinearTwins, AgreeWhereThreadsShareTheWork) {
  for (const Shape& shape :
       {Shape{1, 401, 257}, Shape{5, 300, 83}, Shape{19, 257, 100},
        Shape{65, 150, 33}, Shape{7, 997, 40}, Shape{64, 1100, 18}}) {
    Product product(GetParam(), shape, true, true, dice_);
    ExpectInOrder(fleet_, product);
  }
}

// Weights with enough rows that a GPU's blocks take 32 and 64 rows each, the
// last block fewer.
TEST_P(LinearTwins, AgreeOnTallWeights) {
  for (const Shape& shape : {Shape{17, 34, 4105}, Shape{70, 34, 8210}}) {
    Product product(GetParam(), shape, true, true, dice_);
    ExpectInOrder(fleet_, product);
  }
}

TEST_P(LinearTwins, AgreeWithAndWithoutBiasAndAdd) {
  for (bool bias : {false, true})
    for (bool add : {false, true})
      for (int batch : {1, 7}) {
        Product product(GetParam(), {batch, 65, 18}, bias, add, dice_);
        ExpectInOrder(fleet_, product);
      }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, LinearTwins,
    testing::Values(WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8),
    [](const auto& row) {
      return std::string(row.param == WeightFormat::kF32    ? "F32"
                         : row.param == WeightFormat::kBf16 ? "Bf16"
                                                            : "Q8");
    });

// One ulp is enough to fail.
TEST(Twins, ComparisonsSeeASingleUlpAndNan) {
  Numbers a(1, 2);
  a.data = {1, 2};
  Numbers b = a;
  EXPECT_TRUE(SameBits(a, b));
  b.data[1] = std::nextafter(2.0F, 3.0F);
  EXPECT_FALSE(SameBits(a, b));
  EXPECT_TRUE(Within(a, b, {0, 1e-6}));
  EXPECT_FALSE(Within(a, b, {0, 1e-7}));
  b.data[1] = std::nanf("");
  EXPECT_FALSE(Within(b, a, {1e9, 1e9}));
  a.data[0] = 0;
  b.data = {-0.0F, 2};
  EXPECT_FALSE(SameBits(a, b));
}

}  // namespace
}  // namespace banyan
