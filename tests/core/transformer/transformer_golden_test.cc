// The transformer against another implementation: the tiny checkpoints of
// tests/goldens/checkpoints, every family.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/token.h"
#include "core/checkpoint/families/families.h"
#include "core/model/model.h"
#include "core/ops/devices.h"
#include "core/ops/weight.h"
#include "core/transformer/transformer.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

class TransformerGolden : public testing::TestWithParam<std::string> {};

// The largest difference; NaN if there is one.
double Difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

double Largest(const std::vector<std::vector<double>>& rows) {
  double largest = 0;
  for (const auto& row : rows)
    for (double number : row) largest = std::max(largest, std::fabs(number));
  return largest;
}

// How far 32-bit floats may lead from the numbers in float64, in units of
// u = 2^-24 times the largest number compared. A token's logits depend on sums
// of about 150 products a layer (hidden 36, head 8, tokens 20, hidden 36,
// feed-forward 52), two layers and the head: 340 roundings, which wander by
// sqrt(340) = 18 u. Norms and softmax near cancellation amplify that; eightfold
// is allowed for. transformers' own float32 is off by up to 16 u here. Where
// only what is stored is rounded, a tenth of the roundings are left. Where
// queries, keys, values and the weights of attention are rounded to bfloat16,
// of 2^-8, these are eight on the way, which wander by 3 such units.
double Bound(Backend& backend, double largest) {
  if (backend.facts().rounds_to_bf16) return 6 * std::ldexp(largest, -8);
  const bool rounds_sums = backend.facts().device == "cpu";
  return (rounds_sums ? 150 : 40) * std::ldexp(largest, -24);
}

std::vector<std::shared_ptr<Backend>> OnEveryDevice() {
  std::vector<std::shared_ptr<Backend>> backends;
  for (const DeviceRow& row : DeviceTable()) {
    auto backend = OpenDevice(row.name);
    if (row.name == "cuda" && !backend.ok()) continue;  // there is no GPU
    EXPECT_TRUE(backend.ok()) << backend.status();
    backends.push_back(*std::move(backend));
  }
  return backends;
}

TEST_P(TransformerGolden, LogitsAgree) {
  const GoldenNumbers golden = ReadGolden(GetParam());
  const double largest = Largest(golden.logits64);
  for (const auto& backend : OnEveryDevice()) {
    const auto model = LoadGolden(GetParam(), backend);
    const std::unique_ptr<Session> session = model->NewSession();
    const auto scores =
        ScoreOne(*model, *session, ChainAfter(*session, golden.ids));
    ASSERT_TRUE(scores.ok()) << scores.status();
    for (std::size_t row = 0; row < golden.ids.size(); ++row) {
      EXPECT_LE(Difference(MustRead(**scores, static_cast<int>(row)),
                           golden.logits64[row]),
                Bound(*backend, largest))
          << backend->description() << ", token " << row;
    }
  }
}

TEST_P(TransformerGolden, HiddenStatesAgree) {
  const GoldenNumbers golden = ReadGolden(GetParam());
  for (const auto& backend : OnEveryDevice()) {
    const auto model = LoadGolden(GetParam(), backend);
    const std::unique_ptr<Session> session = model->NewSession();
    const TokenBatch batch = ChainAfter(*session, golden.ids);
    ScoreRequest request = {session.get(), &batch};
    for (int layer = 0; layer < model->layers(); ++layer)
      request.taps.push_back(layer);
    request.taps.push_back(model->layers());
    request.taps.push_back(kAfterFinalNorm);
    request.logits_from = batch.size();
    const auto scores = model->Score({&request, 1});
    ASSERT_TRUE(scores.ok()) << scores.status();
    ASSERT_EQ(golden.hidden64.size(), request.taps.size());
    for (std::size_t tap = 0; tap < golden.hidden64.size(); ++tap) {
      const auto& rows = golden.hidden64[tap];
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto hidden = MustReadHidden(
            *scores->front(), static_cast<int>(tap),
            static_cast<int>(golden.ids.size() - rows.size() + i),
            model->hidden_size());
        EXPECT_LE(Difference({hidden.begin(), hidden.end()}, rows[i]),
                  Bound(*backend, Largest(rows)))
            << backend->description() << ", place " << tap;
      }
    }
  }
}

TEST(TransformerGoldens, AreTheFoldersAndOfEveryFamily) {
  std::vector<std::string> folders;
  for (const auto& entry :
       std::filesystem::directory_iterator(GoldenFolder("")))
    folders.push_back(entry.path().filename().string());
  EXPECT_THAT(folders, testing::UnorderedElementsAreArray(GoldenNames()));
  for (const FamilyRow& row : FamilyCatalogue())
    EXPECT_THAT(GoldenNames(), testing::Contains(std::string(row.name)));
}

INSTANTIATE_TEST_SUITE_P(All, TransformerGolden,
                         testing::ValuesIn(GoldenNames()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
