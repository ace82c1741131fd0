// Greedy decoding by a real transformer: whatever is drafted, and in whatever
// trees, the tokens are those of plain decoding.
#include "core/transformer/transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/token.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/weight.h"
#include "core/prob/sampling_rule.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "drafters/small_models/small_model/small_model.h"
#include "tests/support/decoding.h"
#include "tests/support/made/golden_model.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

constexpr SamplingOptions kGreedy = {.temperature = 0};

std::shared_ptr<CpuBackend> BackendOf(int threads) {
  auto backend = CpuBackend::Create({.threads = threads});
  Check(backend.ok(), backend.status().message());
  return *std::move(backend);
}

class GreedyTransformer : public testing::TestWithParam<std::string> {};

// The drafter is the target with 8-bit weights: right often, and not always.
TEST_P(GreedyTransformer, SaysWhatPlainDecodingSays) {
  const StopRule stop = {.max_new_tokens = 40};
  std::size_t tokens = 0;
  std::size_t rounds = 0;
  std::size_t most = 0;
  for (WeightFormat format : {WeightFormat::kF32, WeightFormat::kBf16}) {
    const auto target = LoadGolden(GetParam(), BackendOf(1), format);
    const std::shared_ptr<Transformer> drafting =
        LoadGolden(GetParam(), BackendOf(2), WeightFormat::kQ8);
    for (const char* policy :
         {"chain {nodes: 4}", "expansion {branching: [3, 2, 1]}",
          "best_first {most_draws: 9}",
          "expand_rerank {width: 3, levels: 4, nodes: 12}"})
      for (std::uint32_t id : {0U, 1U, 2U}) {
        const Prompt prompt = {
            .id = id, .tokens = {1, static_cast<TokenId>(10 + 7 * id), 5}};
        std::vector<Trunk> trunks;
        trunks.push_back(TrunkOf(
            std::make_unique<SmallModel>(drafting, SamplingRule(kGreedy)),
            policy, DrawKind::kDeterministic));
        auto decoder =
            WithTrunks(*target, "greedy", std::move(trunks), kGreedy);
        ASSERT_TRUE(decoder.ok()) << decoder.status();
        const Decoded decoded = MustDecode(*decoder, prompt, stop);
        EXPECT_EQ(
            decoded.tokens,
            MustDecodePlainly(*target, SamplingRule(kGreedy), prompt, stop))
            << policy << ", prompt " << id;
        tokens += decoded.tokens.size();
        rounds += decoded.rounds.size();
        for (const RoundRecord& round : decoded.rounds)
          most = std::max(most, round.emitted.size());
      }
  }
  // Trees were accepted, some of them deeply: else nothing was tested.
  EXPECT_GT(tokens, rounds + rounds / 2);
  EXPECT_GE(most, 4);
}

INSTANTIATE_TEST_SUITE_P(Some, GreedyTransformer,
                         testing::Values("gpt2", "llama", "mistral", "qwen2",
                                         "qwen3"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
