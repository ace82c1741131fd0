// The heads that ship against PyTorch.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/cpu/cpu_backend.h"
#include "drafters/heads/medusa/heads.h"
#include "tests/support/close_logits.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

TEST(MedusaHeads, ThatShipAgreeWithPyTorch) {
  auto backend = CpuBackend::Create();
  ASSERT_TRUE(backend.ok()) << backend.status();
  const auto target = LoadModel("models/pycode-target", *std::move(backend));
  const auto heads = LoadMedusaHeads("models/pycode-medusa", *target);
  ASSERT_TRUE(heads.ok()) << heads.status();
  const auto goldens = ReadShippedGoldens("pycode-medusa");
  ASSERT_EQ(goldens.size(), 3U);
  for (const ShippedGolden& golden : goldens) {
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
