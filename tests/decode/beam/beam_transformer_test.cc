// Beam search by real transformers: rows that stay pending over several passes,
// and are committed when texts join again, against a fresh session a text.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/token.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/weight.h"
#include "decode/beam/beam_search.h"
#include "decode/sequence.h"
#include "tests/decode/beam/beam_oracle.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

std::shared_ptr<CpuBackend> BackendOf(int threads) {
  auto backend = CpuBackend::Create({.threads = threads});
  Check(backend.ok(), backend.status().message());
  return *std::move(backend);
}

// How many passes drafting saved.
int ExpectTheBooks(const Model& target, const Model& drafter,
                   const std::vector<TokenId>& prompt, const StopRule& stop,
                   const BeamOptions& options) {
  const OracleBeam expected = SearchByTheBook(target, prompt, stop, options);
  int passes[2] = {};
  for (const bool drafts : {false, true}) {
    const auto found = BeamSearch(target, drafts ? &drafter : nullptr, prompt,
                                  stop, options, SteadyClock());
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok()) return 0;
    EXPECT_EQ(found->stopped, expected.stopped);
    EXPECT_EQ(found->beam.size(), expected.beam.size());
    for (std::size_t i = 0; i < found->beam.size(); ++i) {
      EXPECT_EQ(found->beam[i].tokens, expected.beam[i].tokens) << i;
      EXPECT_EQ(found->beam[i].log_probability,
                expected.beam[i].log_probability)
          << i;
    }
    passes[drafts ? 1 : 0] = found->passes;
  }
  return passes[0] - passes[1];
}

class BeamTransformer : public testing::TestWithParam<std::string> {};

// The drafter is the target with 8-bit weights. gpt2's context ends soon.
TEST_P(BeamTransformer, FindsWhatTheBookFinds) {
  int saved = 0;
  for (WeightFormat format : {WeightFormat::kF32, WeightFormat::kBf16}) {
    const auto target = LoadGolden(GetParam(), BackendOf(2), format);
    const auto drafter =
        LoadGolden(GetParam(), BackendOf(1), WeightFormat::kQ8);
    for (const int width : {1, 3})
      saved += ExpectTheBooks(
          *target, *drafter, {1, 17, 5}, {.max_new_tokens = 20},
          {.width = width, .draft_width = 2 * width, .gamma = 3});
  }
  EXPECT_GT(saved, 20);
}

INSTANTIATE_TEST_SUITE_P(Some, BeamTransformer,
                         testing::Values("gpt2", "llama", "mistral", "qwen3"),
                         [](const auto& row) { return row.param; });

TEST(BeamShipped, FindsWhatTheBookFinds) {
  const auto backend = BackendOf(2);
  const auto target =
      LoadModel("models/pycode-target", backend, WeightFormat::kBf16);
  const auto drafter =
      LoadModel("models/pycode-draft-2", backend, WeightFormat::kBf16);
  // "def add(a, b):"
  const std::vector<TokenId> prompt = {530, 855, 66, 275, 717, 991, 8, 78, 288};
  const StopRule stop = {.end_of_text = target->facts().end_of_text,
                         .max_new_tokens = 14};
  EXPECT_GT(ExpectTheBooks(*target, *drafter, prompt, stop,
                           {.width = 4, .draft_width = 8, .gamma = 4}),
            2);
}

}  // namespace
}  // namespace banyan
