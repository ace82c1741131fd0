// The models that ship against PyTorch: logits, and those of the heads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/medusa_heads.h"
#include "core/model/model.h"
#include "core/model/transformer.h"
#include "core/ops/cpu_backend.h"
#include "core/ops/weight.h"
#include "tests/support/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

// Both sides round in 32 bits, u = 2^-24. A logit hangs on sums of some 1,200
// products a layer (hidden 192, head 64, tokens 100, hidden 192, feed-forward
// 512, and their twins), four layers and the head: 5,000 roundings, which
// wander by 70 u of the largest logit; eightfold is allowed for norms and
// softmax near cancellation, and twofold for two sides.
constexpr double kRoundings = 70 * 8 * 2;

void ExpectClose(const std::vector<double>& found,
                 const std::vector<double>& wanted, const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  double largest = 0;
  for (double number : wanted) largest = std::max(largest, std::fabs(number));
  ASSERT_GT(largest, 1) << what;
  const double bound = kRoundings * std::ldexp(largest, -24);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], bound) << what << ", token " << i;
}

std::unique_ptr<Transformer> Load(const std::string& name) {
  auto backend = CpuBackend::Create();
  EXPECT_TRUE(backend.ok()) << backend.status();
  return LoadModel("models/" + name, *std::move(backend));
}

class ShippedModel : public testing::TestWithParam<const char*> {};

TEST_P(ShippedModel, LogitsAgree) {
  const auto model = Load(GetParam());
  const auto goldens = ReadShippedGoldens(GetParam());
  ASSERT_EQ(goldens.size(), 3U);
  for (const ShippedGolden& golden : goldens) {
    const std::unique_ptr<Session> session = model->NewSession();
    const auto scores =
        ScoreOne(*model, *session, ChainAfter(*session, golden.ids));
    ASSERT_TRUE(scores.ok()) << scores.status();
    for (std::size_t row = 0; row < golden.rows.size(); ++row) {
      const std::size_t token = golden.ids.size() - golden.rows.size() + row;
      ExpectClose(MustRead(**scores, static_cast<int>(token)), golden.rows[row],
                  GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedModel,
                         testing::Values("pycode-target", "pycode-draft-1",
                                         "pycode-draft-2"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(ShippedHeads, LogitsAgree) {
  const auto target = Load("pycode-target");
  const auto heads =
      MedusaHeads::Load("models/pycode-medusa", *target, WeightFormat::kF32);
  ASSERT_TRUE(heads.ok()) << heads.status();
  for (const ShippedGolden& golden : ReadShippedGoldens("pycode-medusa")) {
    const std::unique_ptr<Session> session = target->NewSession();
    const TokenBatch batch = ChainAfter(*session, golden.ids);
    const ScoreRequest request = {session.get(), &batch, {kAfterFinalNorm}};
    const auto scores = target->Score({&request, 1});
    ASSERT_TRUE(scores.ok()) << scores.status();
    std::vector<std::vector<double>> logits;
    const auto status =
        (*heads)->Score(MustReadHidden(*scores->front(), 0,
                                       static_cast<int>(golden.ids.size()) - 1,
                                       target->hidden_size()),
                        logits);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(logits.size(), golden.rows.size());
    for (std::size_t head = 0; head < logits.size(); ++head)
      ExpectClose(logits[head], golden.rows[head],
                  "head " + std::to_string(head + 1));
  }
}

}  // namespace
}  // namespace banyan
