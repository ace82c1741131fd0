// Attention on every backend computes what it means, over random trees.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ops/backend.h"
#include "tests/core/ops/attention_tree.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"
#include "tests/support/host_part.h"

namespace banyan {
namespace {

// The keys and values one query head of a row sees, in the order of positions.
struct Seen {
  std::vector<const float*> keys;
  std::vector<const float*> values;
};

Seen SeenBy(const AttentionTree& tree, int row, int head) {
  const AttentionShape& shape = tree.shape;
  const int kv_head = head / (shape.heads / shape.kv_heads);
  const int at = kv_head * shape.head_dim;
  Seen seen;
  for (int slot = 0; slot < shape.committed; ++slot) {
    seen.keys.push_back(tree.keys.row(slot) + at);
    seen.values.push_back(tree.values.row(slot) + at);
  }
  for (int slot : tree.Path(shape.first_pending + row)) {
    seen.keys.push_back(tree.pending_keys.row(slot) + at);
    seen.values.push_back(tree.pending_values.row(slot) + at);
  }
  const auto window = static_cast<std::ptrdiff_t>(shape.window);
  const auto size = static_cast<std::ptrdiff_t>(seen.keys.size());
  if (window > 0 && size > window) {
    seen.keys.erase(seen.keys.begin(), seen.keys.end() - window);
    seen.values.erase(seen.values.begin(), seen.values.end() - window);
  }
  return seen;
}

// What the op means, in double, and how far floats may be off.
//
// A score is off by head_dim units of m, the largest sum of |query * key|; the
// difference to the largest, and exp's reduction of it, by 4 more: d. So a p is
// off by 2 d, relatively, and 3 units for exp. Numerator and denominator
// inherit that, sums of n numbers add n and n / 16 + 5 units, the quotient one:
// exp(4 d) - 1 + (1.1 n + 16) units of the mean of |value| under p. A p that
// leaves the normal numbers may be lost: 2^-125 of a value each. However far
// the scores are off, a mean stays within the values.
struct Meant {
  Numbers y;
  std::vector<double> bounds;
};

//
// Where queries, keys, p and values are rounded, a score is off by `unit` of m
// more, and a product of p and value by as much. Of each value `of_value` and
// `each` may be lost besides, and `once`.
struct Rounding {
  double unit = 0;
  double once = 0;
  double of_value = 0x1p-125;
  double each = kTiny;
};

Rounding RoundingOf(const BackendFacts& facts) {
  if (facts.rounds_to_bf16)
    return {.unit = 2.01 * kBf16Unit, .once = kBf16Tiny};
  return {};
}

void AddHead(const AttentionTree& tree, int row, int head,
             const Rounding& rounding, Meant& meant) {
  const int head_dim = tree.shape.head_dim;
  const float* query = tree.queries.row(row) + head * head_dim;
  const Seen seen = SeenBy(tree, row, head);
  const std::size_t n = seen.keys.size();
  std::vector<double> scores(n);
  double m = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double magnitude = 0;
    for (int d = 0; d < head_dim; ++d) {
      scores[j] += double{query[d]} * double{seen.keys[j][d]};
      magnitude += std::fabs(double{query[d]} * double{seen.keys[j][d]});
    }
    m = std::max(m, magnitude);
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - largest);
  const double off =
      std::expm1(4 * ((head_dim + 4) * kUnit + rounding.unit) * m) +
      (1.1 * static_cast<double>(n) + 16) * kUnit + rounding.unit;
  for (int d = 0; d < head_dim; ++d) {
    double sum = 0;
    double mean = 0;
    double most = 0;
    double lost = rounding.once;  // of values
    for (std::size_t j = 0; j < n; ++j) {
      const double value = seen.values[j][d];
      sum += scores[j] / total * value;
      mean += scores[j] / total * std::fabs(value);
      most = std::max(most, std::fabs(value));
      lost += rounding.of_value * std::fabs(value) + rounding.each;
    }
    meant.y.at(row, head * head_dim + d) = static_cast<float>(sum);
    meant.bounds.push_back(std::fmin(off * mean, 2.1 * most) + lost);
  }
}

Meant MeantBy(const AttentionTree& tree, const Rounding& rounding) {
  Meant meant = {
      Numbers(tree.shape.batch, tree.shape.heads * tree.shape.head_dim), {}};
  for (int row = 0; row < tree.shape.batch; ++row)
    for (int head = 0; head < tree.shape.heads; ++head)
      AddHead(tree, row, head, rounding, meant);
  return meant;
}

Numbers ExpectAttends(Fleet& fleet, const AttentionTree& tree) {
  const Meant meant = MeantBy(tree, {});
  Numbers got = ExpectAgreement(
      fleet, tree.shape.batch,
      [&](Backend& backend, int first, int count) {
        return tree.Run(backend, first, count);
      },
      [&](const Numbers& expected, const BackendFacts& other) {
        EXPECT_TRUE(Within(expected, meant.y, meant.bounds))
            << tree.name() << ", the reference";
        return MeantBy(tree, RoundingOf(other)).bounds;
      },
      tree.name());
  return got;
}

TEST(AttentionTwins, AgreeOnAwkwardHeads) {
  Fleet fleet;
  Dice dice(1);
  for (int head_dim : {2, 6, 8, 10, 64, 80, 128})
    for (int kv_heads : {1, 2, 3, 4})
      for (int group : {1, 2, 3, 4, 5, 6, 7, 8}) {
        if (head_dim * kv_heads * group > 700 && !dice.OneIn(4)) continue;
        const AttentionShape shape = {
            kv_heads * group,     kv_heads,      head_dim,
            dice.Between(0, 40),  dice.Below(5), dice.Between(1, 5),
            dice.OneIn(3) ? 7 : 0};
        ExpectAttends(fleet, RandomTree(shape, 10, dice));
      }
}

TEST(AttentionTwins, AgreeOnPrefixesOfAnyLength) {
  Fleet fleet;
  Dice dice(2);
  for (int committed :
       {0,  1,   2,   14,  15,  16,  17,  31,  32,  33,  47,   63,
        65, 100, 127, 129, 255, 257, 300, 511, 513, 600, 1023, 1100})
    for (int window : {0, 1, 5, 16, 100, 1000}) {
      const bool large = committed > 300;
      if (large && window < 100 && window != 0) continue;
      if (LeftOutOnHost(absl::StrCat(committed, " positions"),
                        committed <= 600))
        continue;
      const AttentionShape shape = {4,
                                    2,
                                    large ? dice.OneOf<int>({10, 48, 80}) : 10,
                                    committed,
                                    dice.Below(20),
                                    dice.Between(1, large ? 40 : 6),
                                    window};
      ExpectAttends(fleet, RandomTree(shape, 10, dice));
    }
}

TEST(AttentionTwins, AgreeOnBatchesOfAnySize) {
  Fleet fleet;
  Dice dice(3);
  for (int batch : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 64, 65, 130, 256})
    for (int first_pending : {0, 1, 31, 40}) {
      if (batch > 65 && first_pending > 1) continue;
      const AttentionShape shape = {3,
                                    1,
                                    6,
                                    dice.Below(70),
                                    first_pending,
                                    batch,
                                    dice.OneIn(3) ? dice.Between(1, 60) : 0};
      ExpectAttends(fleet, RandomTree(shape, 10, dice));
    }
}

// Scores far apart: one slot takes all; or all underflow but one; no NaN.
TEST(AttentionTwins, AgreeOnScoresFarApart) {
  Fleet fleet;
  Dice dice(4);
  for (float size : {1e-30F, 1e-3F, 90.0F, 1e4F, 1e10F, 1e30F})
    for (int committed : {0, 5, 100}) {
      const AttentionShape shape = {4, 2, 8, committed, 3, 9};
      const AttentionTree tree = RandomTree(shape, size, dice);
      const Numbers y = ExpectAttends(fleet, tree);
      for (float number : y.data) EXPECT_TRUE(std::isfinite(number)) << size;
    }
}

}  // namespace
}  // namespace banyan
