// Rounds of several drafters that a device runs alone, against those of the
// host, on every kind of device that this machine has.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/token.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "tests/core/transformer/walk.h"
#include "tests/decode/device_decoding.h"
#include "tests/decode/same_rounds.h"
#include "tests/support/sanitized.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

struct Drafters {
  std::string name;
  std::vector<DecodedTrunk> of;  // whose draw kind the case decides
};

const std::vector<Drafters>& AllDrafters() {
  static const auto* const all = new std::vector<Drafters>{
      {"two models",
       {{"small_model", "expansion {branching: [2, 1, 1]}", {}},
        {"small_model, trimmed", "sequences {width: 2, levels: 2}", {}}}},
      {"the same twice",
       {{"small_model", "chain {nodes: 2}", {}},
        {"small_model", "chain {nodes: 3}", {}}}},
      {"model, heads and EAGLE",
       {{"small_model", "chain {nodes: 2}", {}},
        {"medusa", "expansion {branching: [2, 2]}", {}},
        {"eagle3_safeai",
         "static {paths: [[0], [1], [0, 0], [0, 0, 0]]}",
         {}}}},
      {"EAGLE and model",
       {{"eagle1", "expand_rerank {width: 3, levels: 3, nodes: 5}", {}},
        {"small_model", "chain {nodes: 1}", {}}}},
      {"shared draws",
       {{"medusa", "expansion {branching: [2, 2], share_draws: true}", {}},
        {"mtp_mimo", "expand_rerank {width: 2, levels: 2, nodes: 4}", {}},
        {"medusa, trimmed", "sequences {width: 2, levels: 2}", {}}}},
      {"text alone", {{"ngram {}", "expansion {branching: [2, 2]}", {}}}},
      {"model and texts",
       {{"small_model", "chain {nodes: 2}", {}},
        {"suffix {}", "best_first {most_draws: 5}", {}},
        {"copy {}", "chain {nodes: 3}", {}}}},
      {"text before EAGLE",
       {{"random {}", "sequences {width: 2, levels: 2}", {}},
        {"eagle1", "chain {nodes: 2}", {}}}}};
  return *all;
}

const SamplingOptions kRules[] = {
    {.temperature = 1},
    {.temperature = 0},
    {.repetition_penalty = 1.3, .banned = {3, 5, 3}, .temperature = 1.2},
    {.temperature = 1.5, .top_k = 6, .min_p = 0.05},
    {.temperature = 8}};

// The emulated GPU, which is slow, has every third case.
class SeveralDrafters : public testing::TestWithParam<std::string> {};

// The kinds of draws are the case's, where the policy takes them.
DecodedSetting SettingOf(const Drafters& drafters, const std::string& verifier,
                         DrawKind draw_kind, const SamplingOptions& sampling) {
  DecodedSetting setting = {"", "", verifier, draw_kind, sampling, drafters.of};
  for (DecodedTrunk& trunk : setting.beside) {
    const bool ranked = trunk.policy.find("expand_rerank") == 0 ||
                        trunk.policy.find("static") == 0 ||
                        trunk.drafter == "copy {}";
    trunk.draw_kind = ranked ? DrawKind::kDeterministic : draw_kind;
  }
  return setting;
}

TEST_P(SeveralDrafters, AreTheHostsToTheLastBit) {
  Models models("llama", BackendOf(GetParam()));
  models.TakeEagleTarget();
  Tally tally;
  std::size_t number = 0;
  int accepted = 0;
  std::size_t shared = 0;
  const bool emulated = GetParam() == "emulated_gpu";
  for (const Drafters& drafters : AllDrafters())
    for (const char* verifier :
         {"greedy", "match", "point_mass", "multi_round"})
      for (DrawKind draw_kind : kDrawKinds) {
        DecodedSetting setting =
            SettingOf(drafters, verifier, draw_kind,
                      kRules[number++ % std::size(kRules)]);
        if (std::string(verifier) == "greedy") setting.sampling.temperature = 0;
        if (emulated && number % (kSanitized ? 21 : 3) != 1) continue;
        SCOPED_TRACE(setting.name());
        auto decoder = DecoderOf(models, setting);
        if (IsRefusal(decoder.status())) {
          tally.Count(CaseResult::kUnlawful);
          continue;
        }
        ASSERT_TRUE(decoder.ok()) << decoder.status();
        const Rounds device = OwnRoundsOf(*decoder, number, emulated ? 12 : 28);
        for (const RoundRecord& round : device.rounds) {
          accepted += static_cast<int>(round.verdict.path.size());
          for (const Node& node : round.tree.nodes())
            shared += node.lists.size() > 1 ? 1 : 0;
        }
        tally.Count(CaseResult::kProven);
      }
  // Else nothing was kept that was drafted, or no node was two drafters'.
  const bool few = emulated && kSanitized;
  EXPECT_GT(accepted, few ? 0 : 20);
  EXPECT_GT(shared, few ? 0U : 50U);
  if (!few) ExpectCounts(tally, emulated ? 30 : 72);
}

INSTANTIATE_TEST_SUITE_P(All, SeveralDrafters,
                         testing::Values("reference", "cpu", "emulated_gpu"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
