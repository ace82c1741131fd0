// The models that ship against PyTorch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/transformer/transformer.h"
#include "tests/support/close_logits.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/must_read.h"

namespace banyan {
namespace {

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
                                         "pycode-draft-2", "pycode-other"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace banyan
