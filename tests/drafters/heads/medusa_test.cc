#include "drafters/heads/medusa/medusa.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/transformer/transformer.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "drafters/heads/medusa/heads.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/walk.h"
#include "tests/drafters/heads/made_heads.h"
#include "tests/support/decoding.h"
#include "tests/support/made/golden_model.h"
#include "tests/support/shared_models.h"
#include "tests/support/solo.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

// A target with heads made up for it, on a device.
class MedusaTest : public testing::TestWithParam<std::string> {
 protected:
  MedusaTest()
      : target_(LoadGolden("llama", BackendOf(GetParam()))),
        made_(MakeHeads(*target_)) {
    WriteHeads(made_.tensors, folder_);
    auto heads = LoadMedusaHeads(folder_.path(), *target_);
    Check(heads.ok(), heads.status().message());
    heads_ = *std::move(heads);
  }

  std::unique_ptr<Medusa> Drafter(const SamplingOptions& sampling = {}) {
    return std::make_unique<Medusa>(heads_, SamplingRule(sampling));
  }

  // A context whose last state is the one that the heads were made for.
  Context Known() const {
    Context context = ContextOf({1, 2, 3});
    context.features = {.taps = {kAfterFinalNorm},
                        .hidden_size = target_->hidden_size(),
                        .rows = 2,
                        .values = {}};
    context.features.values.resize(made_.hidden.size());  // another one first
    context.features.values.insert(context.features.values.end(),
                                   made_.hidden.begin(), made_.hidden.end());
    return context;
  }

  TestFolder folder_;
  std::unique_ptr<Transformer> target_;
  MadeHeads made_;
  std::shared_ptr<const MedusaHeads> heads_;
};

TEST_P(MedusaTest, GivesEveryDepthItsHeadsLawWhateverThePath) {
  Solo drafter(Drafter({.temperature = 0.7}));
  const Context context = Known();
  ASSERT_TRUE(drafter.Begin(context).ok());
  TrunkTree tree(3, 0, DrawKind::kIndependent);
  const auto first = drafter.Propose(context, tree, {0});
  ASSERT_TRUE(first.ok()) << first.status();
  tree.SetProposal(0, {first->front()});
  for (TokenId token : {4, 5}) tree.AddDraw(0, token, first->front());
  const auto second = drafter.Propose(context, tree, {1, 2});
  ASSERT_TRUE(second.ok()) << second.status();
  const SamplingRule rule({.temperature = 0.7});
  const auto law = [&](std::size_t head) {
    std::vector<std::vector<double>> logits;
    EXPECT_TRUE(heads_->Score(made_.hidden, logits).ok());
    return *rule.Apply(logits[head], {}, {});
  };
  EXPECT_TRUE(Equal(first->front(), law(0)));
  EXPECT_TRUE(Equal((*second)[0], law(1)));
  EXPECT_TRUE(Equal((*second)[1], law(1)));
}

TEST_P(MedusaTest, HasNothingBelowItsLastHeadOrWithoutAState) {
  Solo drafter(Drafter());
  Context context = Known();
  TrunkTree tree(3, 0, DrawKind::kIndependent);
  int at = 0;
  EXPECT_EQ(drafter.traits().depth_heads, kMadeHeads);
  for (int depth = 0; depth < kMadeHeads; ++depth) {
    const auto law = drafter.Propose(context, tree, {at});
    ASSERT_TRUE(law.ok());
    EXPECT_FALSE(law->front().empty());
    tree.SetProposal(at, {law->front()});
    at = tree.AddDraw(at, 7, law->front());
  }
  const auto below = drafter.Propose(context, tree, {at});
  ASSERT_TRUE(below.ok());
  EXPECT_TRUE(below->front().empty());
  context.features.rows = 0;
  ASSERT_TRUE(drafter.Begin(context).ok());
  const auto none =
      drafter.Propose(context, TrunkTree(3, 0, DrawKind::kIndependent), {0});
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->front().empty());
}

TEST_P(MedusaTest, RanksByTheMassesOfTemperatureOneWhenGreedy) {
  Solo drafter(Drafter({.temperature = 0}));
  const Context context = Known();
  const auto ranked =
      drafter.Propose(context, TrunkTree(3, 0, DrawKind::kDeterministic), {0});
  ASSERT_TRUE(ranked.ok());
  EXPECT_EQ(ranked->front().vocab_size(), target_->vocab_size());
  int candidates = 0;
  ranked->front().ForEach([&](TokenId, double) { ++candidates; });
  EXPECT_GT(candidates, 10);
  const auto drawn =
      drafter.Propose(context, TrunkTree(3, 0, DrawKind::kIndependent), {0});
  ASSERT_TRUE(drawn.ok());
  EXPECT_NEAR(drawn->front().Mass(ranked->front().Argmax()), 1, 1e-12);
}

// Heads of random numbers are hardly ever right. The greedy text must still be
// the same under every draw kind, in trees and after prompts of any length.
TEST_P(MedusaTest, LeavesGreedyTextAsItIs) {
  const StopRule stop = {.max_new_tokens = 24};
  for (const char* policy :
       {"chain {nodes: 3}", "expansion {branching: [4, 3]}",
        "expansion {branching: [3, 2], share_draws: true}"})
    for (DrawKind draw_kind :
         {DrawKind::kIndependent, DrawKind::kDeterministic})
      for (const auto& tokens :
           {std::vector<TokenId>{1}, std::vector<TokenId>{1, 9, 4, 4}}) {
        std::vector<Trunk> trunks;
        trunks.push_back(
            TrunkOf(Drafter({.temperature = 1}), policy, draw_kind));
        auto decoder = WithTrunks(*target_, "multi_round", std::move(trunks),
                                  {.temperature = 0});
        ASSERT_TRUE(decoder.ok()) << decoder.status();
        const Prompt prompt = {.id = 1, .tokens = tokens};
        const Decoded decoded = MustDecode(*decoder, prompt, stop);
        EXPECT_EQ(decoded.tokens,
                  MustDecodePlainly(*target_, SamplingRule({.temperature = 0}),
                                    prompt, stop))
            << policy;
        int drafted = 0;
        for (const RoundRecord& round : decoded.rounds)
          drafted += round.tree.size() - 1;
        EXPECT_GT(drafted, 20);
      }
}

INSTANTIATE_TEST_SUITE_P(Devices, MedusaTest, testing::ValuesIn(DeviceNames()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
