// AttentionMass on every backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/ops/backend.h"
#include "core/ops/devices.h"
#include "core/ops/op_args.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

struct Shape {
  int heads;
  int kv_heads;
  int head_dim;
  int committed;
  int chunk;
  int batch;
};

// A committed prefix, slots after it, and rows that attend to the prefix.
struct Case {
  std::string name() const {
    return absl::StrCat(shape.heads, " heads on ", shape.kv_heads, " of ",
                        shape.head_dim, ", committed ", shape.committed,
                        ", chunks of ", shape.chunk, ", batch ", shape.batch);
  }
  int chunks() const { return ChunksOf(shape.committed, shape.chunk); }
  Numbers Run(Backend& backend, int first, int count) const;

  Shape shape;
  Numbers queries;
  Numbers keys;  // a row for each slot, those after the prefix too
};

// Values are not read, so they are no numbers.
Numbers Case::Run(Backend& backend, int first, int count) const {
  Desk desk(backend);
  KvCache cache = {.kv_heads = shape.kv_heads, .head_dim = shape.head_dim};
  absl::Status status = backend.ReserveKv(cache, keys.rows, 0);
  EXPECT_TRUE(status.ok()) << status;
  Numbers values(keys.rows, keys.columns);
  std::fill(values.data.begin(), values.data.end(),
            std::numeric_limits<float>::quiet_NaN());
  status = backend.StoreKv({{.keys = desk.Put(keys),
                             .values = desk.Put(values),
                             .cache = &cache,
                             .first_slot = 0}});
  EXPECT_TRUE(status.ok()) << status;
  const Place place = {.first = first % 3 * 5, .lanes = count % 2};
  const Tensor y = desk.Room(count * shape.kv_heads, chunks(), place);
  status = backend.AttentionMass(
      {.queries = desk.Put(queries.Rows(first, count), place),
       .heads = shape.heads,
       .prefix = &cache,
       .committed = shape.committed,
       .chunk = shape.chunk,
       .y = y});
  EXPECT_TRUE(status.ok()) << status;
  // The key heads of a query side by side.
  Numbers masses = desk.Take(y);
  masses.rows = count;
  masses.columns *= shape.kv_heads;
  return masses;
}

// Makes scores of up to about `size`; those after the prefix are far larger.
Case RandomCase(const Shape& shape, float size, Dice& dice) {
  const float scale =
      std::sqrt(3 * size / std::sqrt(static_cast<float>(shape.head_dim)));
  const int columns = shape.kv_heads * shape.head_dim;
  Case test = {
      shape,
      SoftNumbers(shape.batch, shape.heads * shape.head_dim, scale, dice),
      SoftNumbers(shape.committed + dice.Below(20), columns, scale, dice)};
  for (int slot = shape.committed; slot < test.keys.rows; ++slot)
    for (int i = 0; i < columns; ++i) test.keys.at(slot, i) *= 100;
  return test;
}

// What the op means, in double, and how far floats may be off.
struct Meant {
  Numbers y;
  std::vector<double> bounds;
};

// A score is off by head_dim units of m, the largest sum of |query * key|; the
// difference to the largest, and exp's reduction of it, by 4 more: d. Where
// queries and keys are rounded to bfloat16, by 2.01 of its units more. So a p
// is off by 2 d, relatively, and 3 units for each of two exp. A chunk's sum and
// that of all inherit that, sums of n numbers add n and n / 4 + 5 units, the
// quotient one: exp(4 d) - 1 + (1.3 n + 32) units of a head's part, and a unit
// of all for each head. A p that leaves the normal numbers may be lost: 2^-125
// each. However far the scores are off, a part stays within 0 and 1.
void AddHead(const Case& test, int row, int head, bool rounds, Meant& meant) {
  const Shape& shape = test.shape;
  const float* query = test.queries.row(row) + head * shape.head_dim;
  const int kv_head = head / (shape.heads / shape.kv_heads);
  const int at = kv_head * shape.head_dim;
  std::vector<double> p;
  double m = 0;
  for (int slot = 0; slot < shape.committed; ++slot) {
    double score = 0;
    double magnitude = 0;
    for (int d = 0; d < shape.head_dim; ++d) {
      const double product = double{query[d]} * test.keys.at(slot, at + d);
      score += product;
      magnitude += std::fabs(product);
    }
    p.push_back(score);
    m = std::max(m, magnitude);
  }
  const double largest = *std::max_element(p.begin(), p.end());
  double total = 0;
  for (double& score : p) total += score = std::exp(score - largest);
  const double d =
      ((shape.head_dim + 4) * kUnit + (rounds ? 2.01 * kBf16Unit : 0)) * m;
  const double off =
      std::expm1(4 * d) + (1.3 * shape.committed + 32 + shape.heads) * kUnit;
  for (int chunk = 0; chunk < test.chunks(); ++chunk) {
    double part = 0;
    for (int slot = chunk * shape.chunk;
         slot < std::min((chunk + 1) * shape.chunk, shape.committed); ++slot)
      part += p[static_cast<std::size_t>(slot)] / total;
    const int column = kv_head * test.chunks() + chunk;
    meant.y.at(row, column) += static_cast<float>(part);
    meant.bounds[static_cast<std::size_t>(row * meant.y.columns + column)] +=
        std::fmin(off * part, 1.01) + 0x1p-125 * shape.committed;
  }
}

Meant MeantBy(const Case& test, bool rounds) {
  Meant meant = {Numbers(test.shape.batch, test.shape.kv_heads * test.chunks()),
                 {}};
  meant.bounds.resize(meant.y.data.size());
  for (int row = 0; row < test.shape.batch; ++row)
    for (int head = 0; head < test.shape.heads; ++head)
      AddHead(test, row, head, rounds, meant);
  return meant;
}

Numbers ExpectMass(Fleet& fleet, const Case& test) {
  const Meant meant = MeantBy(test, false);
  return ExpectAgreement(
      fleet, test.shape.batch,
      [&](Backend& backend, int first, int count) {
        return test.Run(backend, first, count);
      },
      [&](const Numbers& expected, const BackendFacts& other) {
        EXPECT_TRUE(Within(expected, meant.y, meant.bounds))
            << test.name() << ", the reference";
        return other.rounds_to_bf16 ? MeantBy(test, true).bounds : meant.bounds;
      },
      test.name());
}

TEST(AttentionMassTwins, AgreeOnAwkwardHeads) {
  Fleet fleet;
  Dice dice(1);
  for (int head_dim : {2, 6, 8, 10, 64, 80, 128, 200})
    for (int kv_heads : {1, 2, 3, 4})
      for (int group : {1, 2, 3, 5, 8}) {
        if (head_dim * kv_heads * group > 700 && !dice.OneIn(4)) continue;
        const Shape shape = {kv_heads * group,
                             kv_heads,
                             head_dim,
                             dice.Between(1, 60),
                             dice.Between(1, 20),
                             dice.Between(1, 5)};
        ExpectMass(fleet, RandomCase(shape, 3, dice));
      }
}

TEST(AttentionMassTwins, AgreeOnPrefixesAndChunksOfAnyLength) {
  Fleet fleet;
  Dice dice(2);
  for (int committed : {1, 2, 15, 16, 17, 31, 32, 33, 100, 127, 129, 300, 513})
    for (int chunk : {1, 3, 15, 16, 17, 32, 50, 64, 128, 200, 1000}) {
      if (committed > 100 && chunk < 15) continue;
      const Shape shape = {4, 2, 10, committed, chunk, dice.Between(1, 5)};
      ExpectMass(fleet, RandomCase(shape, 3, dice));
    }
}

TEST(AttentionMassTwins, AgreeOnBatchesOfAnySize) {
  Fleet fleet;
  Dice dice(3);
  for (int batch : {1, 2, 3, 5, 6, 7, 8, 9, 16, 17, 33, 64, 65}) {
    const Shape shape = {3,    1, 6, dice.Between(1, 70), dice.Between(1, 20),
                         batch};
    ExpectMass(fleet, RandomCase(shape, 3, dice));
  }
}

// Scores far apart: one slot takes all; or all underflow but one; no NaN.
TEST(AttentionMassTwins, AgreeOnScoresFarApart) {
  Fleet fleet;
  Dice dice(4);
  for (float size : {1e-30F, 1e-3F, 90.0F, 1e4F, 1e10F, 1e30F})
    for (int committed : {1, 5, 100}) {
      const Shape shape = {4, 2, 8, committed, 7, 9};
      const Numbers y = ExpectMass(fleet, RandomCase(shape, size, dice));
      for (int row = 0; row < y.rows; ++row) {
        double all = 0;
        for (int chunk = 0; chunk < y.columns; ++chunk)
          all += double{y.at(row, chunk)};
        EXPECT_NEAR(all, shape.heads, 1e-4) << size;
      }
    }
}

// One score of -infinity, which weighs nothing if it is taken for a number.
TEST(AttentionMass, IsNoNumberWhereAScoreIsMinusInfinity) {
  Fleet fleet;
  for (int slot : {0, 3, 20, 39}) {
    Case test = {{1, 1, 2, 40, 16, 1}, Numbers(1, 2), Numbers(40, 2)};
    std::fill(test.queries.data.begin(), test.queries.data.end(), 1.0F);
    test.keys.at(slot, 1) = -std::numeric_limits<float>::infinity();
    for (const auto& backend : fleet.all()) {
      const Numbers y = test.Run(*backend, 0, 1);
      EXPECT_FALSE(std::all_of(y.data.begin(), y.data.end(),
                               [](float x) { return std::isfinite(x); }))
          << backend->description() << ", slot " << slot;
    }
  }
}

// On devices that start no threads, which a test that dies cannot have.
TEST(AttentionMassDeathTest, EndsTheProgramWhereShapesAreWrong) {
  const std::vector<std::shared_ptr<Backend>> backends = {
      *OpenDevice("reference"), *OpenDevice("cpu", {.threads = 1}),
      *OpenDevice("emulated_gpu")};
  for (const auto& backend : backends) {
    Desk desk(*backend);
    KvCache cache = {.kv_heads = 2, .head_dim = 6};
    ASSERT_TRUE(backend->ReserveKv(cache, 16, 0).ok());
    const auto ask = [&](int committed, int chunk, int rows, int columns) {
      (void)backend->AttentionMass({.queries = desk.Room(2, 12),
                                    .heads = 2,
                                    .prefix = &cache,
                                    .committed = committed,
                                    .chunk = chunk,
                                    .y = desk.Room(rows, columns)});
    };
    EXPECT_DEATH(ask(0, 4, 4, 1), "not there");
    EXPECT_DEATH(ask(17, 4, 4, 5), "not there");
    EXPECT_DEATH(ask(16, 0, 4, 1), "another shape");
    EXPECT_DEATH(ask(16, 4, 4, 3), "another shape");
    EXPECT_DEATH(ask(16, 4, 2, 4), "another shape");
  }
}

}  // namespace
}  // namespace banyan
