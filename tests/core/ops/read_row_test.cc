// Reading rows of logits by Law(), Best() and Copy(), on every device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/ops/backend.h"
#include "core/ops/device_ops.h"
#include "core/ops/op_args.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "tests/core/ops/every_backend.h"
#include "tests/support/dice.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Three rows of logits, the middle one being read; what pads the vocabulary
// from `used` on is rubbish.
struct Row {
  // Runs `read` on a desk of the backend.
  template <typename Read>
  auto On(Backend& backend, Read read) const {
    Desk desk(backend);
    return read(LogitRow{desk.Put(rows, place).Rows(1, 1), used});
  }
  // What the ops say they read.
  std::vector<double> Meant() const {
    std::vector<double> logits(rows.row(1), rows.row(1) + rows.columns);
    std::fill(logits.begin() + used, logits.end(), -kInfinity);
    return logits;
  }
  std::string name() const {
    return absl::StrCat(used, " of ", rows.columns, " tokens");
  }

  Numbers rows;
  int used;
  Place place = {};
};

// With `levels`, few different logits, zeros of both signs among them.
Row RandomRow(int vocab, int used, bool levels, Dice& dice) {
  Row row = {SoftNumbers(3, vocab, 8, dice), used, RandomPlace(dice)};
  for (int token = 0; token < vocab; ++token) {
    float& logit = row.rows.at(1, token);
    if (levels) logit = dice.OneOf<float>({-1, -0.0F, 0, 2});
    if (token > 0 && dice.OneIn(9)) logit = -0x1.fp127F;
    if (token >= used) logit = dice.OneOf<float>({kNan, kInfinity, 100});
  }
  return row;
}

// Vocabularies, and how much of each is used.
std::vector<Row> AwkwardRows() {
  Dice dice(1);
  std::vector<Row> rows;
  for (int vocab : {1, 2, 15, 16, 17, 100, 257, 5003})
    for (bool levels : {false, true}) {
      rows.push_back(RandomRow(vocab, vocab, levels, dice));
      if (vocab > 1)
        rows.push_back(
            RandomRow(vocab, dice.Between(1, vocab - 1), levels, dice));
    }
  return rows;
}

// By sorting all.
std::vector<TokenLogit> Sorted(const std::vector<double>& logits, int k) {
  std::vector<TokenLogit> all;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (std::isfinite(logits[i]))
      all.push_back({static_cast<TokenId>(i), logits[i]});
  std::stable_sort(all.begin(), all.end(),
                   [](const TokenLogit& a, const TokenLogit& b) {
                     return a.logit > b.logit;
                   });
  if (all.size() > static_cast<std::size_t>(k))
    all.erase(all.begin() + k, all.end());
  return all;
}

TEST(Best, AreTheLargestOnEveryDevice) {
  const Fleet fleet;
  int compared = 0;
  for (const Row& row : AwkwardRows())
    for (int k : {1, 2, 10, 64, row.rows.columns, row.rows.columns + 3}) {
      const std::vector<TokenLogit> expected = Sorted(row.Meant(), k);
      for (const auto& backend : fleet.all()) {
        const auto best = row.On(*backend, [&](const LogitRow& logits) {
          return backend->Best({logits, k});
        });
        ASSERT_TRUE(best.ok()) << best.status();
        EXPECT_EQ(*best, expected) << row.name() << ", the best " << k << ", "
                                   << backend->description();
        ++compared;
      }
    }
  EXPECT_EQ(compared, 30 * 6 * static_cast<int>(fleet.all().size()));
}

std::vector<SamplingRule> Rules() {
  return {SamplingRule({.temperature = 1}),
          SamplingRule({.temperature = 0}),
          SamplingRule({.temperature = 0.7, .top_k = 5}),
          SamplingRule({.temperature = 1.3, .top_p = 0.8}),
          SamplingRule({.temperature = 0.9, .top_k = 40, .min_p = 0.05}),
          SamplingRule({.repetition_penalty = 1.2, .banned = {1, 3}}),
          SamplingRule({.repetition_penalty = 1.5, .temperature = 0})};
}

const std::vector<TokenId> kHistory = {0, 2, 2, 9000};
const std::vector<TokenId> kPath = {1, 14};

absl::StatusOr<Distribution> LawOn(Backend& backend, const Row& row,
                                   const SamplingRule& rule) {
  return row.On(backend, [&](const LogitRow& logits) {
    return backend.Law({logits, &rule, kHistory, kPath});
  });
}

std::vector<double> Masses(const Distribution& law) {
  std::vector<double> masses;
  for (TokenId token = 0; token < law.vocab_size(); ++token)
    masses.push_back(law.Mass(token));
  return masses;
}

// The same tokens, and masses off by a few roundings at most: a double's unit
// is 1.1e-16, a sum of 5,003 terms in another order moves by less than 1e-12.
void ExpectNear(const std::vector<double>& got,
                const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(std::fabs(got[i] - expected[i]) <= 1e-12 * expected[i])
        << what << ", token " << i << ": " << got[i] << " for " << expected[i];
}

TEST(Law, IsTheRulesOnEveryDevice) {
  const Fleet fleet;
  int laws = 0;
  int refused = 0;
  for (const Row& row : AwkwardRows())
    for (const SamplingRule& rule : Rules()) {
      const auto expected = rule.Apply(row.Meant(), kHistory, kPath);
      for (const Kin& kin : fleet.kin) {
        const auto first = LawOn(*kin.backends.front(), row, rule);
        ASSERT_EQ(first.ok(), expected.ok()) << first.status();
        expected.ok() ? ++laws : ++refused;
        if (expected.ok())
          ExpectNear(Masses(*first), Masses(*expected),
                     absl::StrCat(row.name(), ", ", kin.device));
        for (const auto& backend : kin.backends) {
          const auto law = LawOn(*backend, row, rule);
          if (!expected.ok())
            EXPECT_EQ(law.status(), first.status());
          else
            EXPECT_EQ(Masses(*law), Masses(*first)) << backend->description();
        }
      }
      for (const auto& backend : fleet.hosts()) {
        const auto law = LawOn(*backend, row, rule);
        if (expected.ok())
          EXPECT_EQ(Masses(*law), Masses(*expected)) << backend->description();
        else
          EXPECT_EQ(law.status(), expected.status());
      }
    }
  // Where both bans leave nothing of two tokens or one.
  EXPECT_EQ(laws + refused, 30 * 7 * static_cast<int>(fleet.kin.size()));
  EXPECT_LT(refused, 10);
}

// -infinity too came of a sum that overflowed.
TEST(ReadRow, TellsOfRowsThatAreNoLogits) {
  const Fleet fleet;
  const SamplingRule rule;
  for (const auto& backend : fleet.all())
    for (float odd : {kNan, -kNan, kInfinity, -kInfinity})
      for (int token : {0, 1, 30, 99}) {
        Row row = {Numbers(3, 100), 100};
        row.rows.at(1, token) = odd;
        // Tokens before it are far above, so that no shortcut passes it over.
        for (int i = 0; i < token; ++i)
          row.rows.at(1, i) = static_cast<float>(1000 - i);
        const auto best = row.On(*backend, [&](const LogitRow& logits) {
          return backend->Best({logits, 1});
        });
        const std::string said = absl::StrCat("token ", token, " is ");
        EXPECT_EQ(best.status().code(), absl::StatusCode::kInvalidArgument);
        EXPECT_THAT(best.status().message(), HasSubstr(said));
        const auto law = LawOn(*backend, row, rule);
        EXPECT_EQ(law.status().code(), absl::StatusCode::kInvalidArgument);
        EXPECT_THAT(law.status().message(), HasSubstr(said));
      }
}

// Of all rows of x in their order, or of those chosen: others of y stay.
void ExpectCopied(const Numbers& x, const Numbers& before,
                  const std::vector<int>& chosen, Dice& dice) {
  const int rows = before.rows;
  Numbers wanted = before;
  for (int row = 0; row < rows; ++row) {
    const int from =
        chosen.empty() ? row : chosen[static_cast<std::size_t>(row)];
    for (int i = 0; i < x.columns && from >= 0; ++i)
      wanted.at(row, i) = x.at(from, i);
  }
  const Place from = RandomPlace(dice);
  const Place to = RandomPlace(dice);
  Fleet fleet;
  ExpectAgreement(
      fleet, rows,
      [&](Backend& backend, int first, int count) {
        Desk desk(backend);
        const Tensor y = desk.Put(before.Rows(first, count), to);
        CopyArgs args = {.x = desk.Put(x, from), .y = y};
        if (chosen.empty())
          args.x = args.x.Rows(first, count);
        else
          args.rows = desk.List(
              {chosen.begin() + first, chosen.begin() + first + count});
        const auto status = backend.Copy(args);
        EXPECT_TRUE(status.ok()) << status;
        Numbers copy = desk.Take(y);
        EXPECT_TRUE(SameBits(copy, wanted.Rows(first, count)));
        return copy;
      },
      [](const Numbers& expected, const BackendFacts&) {
        return std::vector<double>(expected.data.size());
      },
      absl::StrCat(rows, " x ", x.columns));
}

TEST(Copy, MovesRowsAndNothingElse) {
  Dice dice(2);
  for (int rows : {1, 2, 7})
    for (int columns : {1, 16, 33})
      ExpectCopied(HardNumbers(rows, columns, 100, dice),
                   HardNumbers(rows, columns, 100, dice), {}, dice);
}

TEST(Copy, TakesChosenRowsAndLeavesTheOthers) {
  Dice dice(3);
  for (int columns : {1, 16, 33})
    ExpectCopied(HardNumbers(5, columns, 100, dice),
                 HardNumbers(6, columns, 100, dice), {4, -1, 0, 4, -1, 2},
                 dice);
}

}  // namespace
}  // namespace banyan
