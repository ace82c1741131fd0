// The presets of configs/methods on the models that ship: at temperature 0, in
// every size and format of weights, the text is that of plain decoding; and
// they are what their names say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/random/random_source.h"
#include "decode/sequence.h"
#include "experiments/loading/method_file.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/params_edit.h"
#include "tests/experiments/preset_bench.h"
#include "tests/experiments/preset_files.h"
#include "tests/support/sanitized.h"
#include "tests/support/tally.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

constexpr int kPrompts = 30;
constexpr int kTokens = 24;

// What makes a preset smaller and larger: settings, in YAML.
struct Sizes {
  std::string path;
  std::vector<std::string> values;
};

// By the policy's key that says how much is drafted.
Sizes SizesOf(const Params& preset) {
  const Params* trunks = preset.Find("trunks");
  const Params& owner = trunks == nullptr ? preset : trunks->items().front();
  const std::string path =
      absl::StrCat(trunks == nullptr ? "" : "trunks.0.", "policy");
  const std::vector<Sizes> known = {
      {"nodes", {"1", "4", "9"}},
      {"most_draws", {"3", "8", "20"}},
      {"branching", {"[2]", "[2, 2, 1]", "[3, 2, 2]"}},
      {"paths",
       {"[[0]]", "[[0], [1], [0, 0], [0, 0, 0]]",
        "[[0], [1], [2], [0, 0], [0, 1], [1, 0], [0, 0, 0], [0, 0, 0, 0]]"}}};
  for (const Sizes& sizes : known)
    if (owner.Find("policy")->Find(sizes.path) != nullptr)
      return {absl::StrCat(path, ".", sizes.path), sizes.values};
  return {path,
          {"{name: chain, nodes: 1}", "{name: expansion, branching: [2, 2]}",
           "{name: expansion, branching: [4, 3, 2]}"}};
}

class Bench : public PresetBench {
 public:
  explicit Bench(const std::string& preset)
      : PresetBench(OneThread(), kShippedTarget, PromptsFor(preset, kPrompts),
                    kTokens) {}
};

TEST(Presets, OpenWithTheirQuestion) {
  EXPECT_GE(DraftingPresets().size(), 50U);
  for (const std::string& name : DraftingPresets()) {
    std::ifstream file(absl::StrCat("configs/methods/", name, ".yaml"));
    std::string first;
    std::getline(file, first);
    EXPECT_EQ(first.substr(0, 2), "# ") << "a preset opens with its question";
    std::string all = first;
    for (std::string line; std::getline(file, line) && line[0] == '#';)
      all += line;
    EXPECT_NE(all.find('?'), std::string::npos) << name;
  }
}

// Of weights. Texts are compared in all of them where that does not take half
// of the time of all tests: sanitizers see what they see in one.
std::vector<std::string> Formats() {
  if (kSanitized) return {"q8"};
  return {"f32", "bf16", "q8", "q4"};
}

// Each prompt is decoded in each size and in each format, in one of three sizes
// a format. With BANYAN_LONG it is all of them.
bool IsDecoded(std::size_t prompt, std::size_t size, std::size_t format) {
  return std::getenv("BANYAN_LONG") != nullptr ||
         prompt % 3 == (size + format) % 3;
}

class EveryPreset : public testing::TestWithParam<std::string> {};

TEST_P(EveryPreset, LeavesGreedyTextAsItIsInEverySizeAndFormat) {
  Bench bench(GetParam());
  Tally tally;
  const Sizes sizes = SizesOf(Preset(GetParam()));
  const std::vector<std::string> formats = Formats();
  for (std::size_t format = 0; format < formats.size(); ++format) {
    const std::string& weights = formats[format];
    const auto plain = bench.Decode(bench.Open(Preset("plain"), weights));
    bench.rounds = bench.drafted = bench.accepted = 0;
    std::vector<std::size_t> drafted;
    for (std::size_t size = 0; size < sizes.values.size(); ++size) {
      const std::string& value = sizes.values[size];
      const auto parsed = ParseYaml(value, "size");
      ASSERT_TRUE(parsed.ok());
      const auto file = WithValue(Preset(GetParam()), sizes.path, *parsed);
      ASSERT_TRUE(file.ok()) << file.status();
      const auto texts = bench.Decode(
          bench.Open(*file, weights),
          [&](std::size_t i) { return IsDecoded(i, size, format); });
      for (const auto& [prompt, text] : texts)
        EXPECT_EQ(text, plain.at(prompt))
            << weights << " " << sizes.path << " " << value << " " << prompt;
      tally.Count(CaseResult::kProven, static_cast<int>(texts.size()));
      drafted.push_back(bench.drafted);
    }
    EXPECT_LT(drafted[0], drafted[1] - drafted[0]) << "a size does nothing";
    // It drafted, and some of it was right: else nothing was tested.
    EXPECT_GT(bench.drafted, bench.rounds / 4) << weights;
    EXPECT_GT(bench.accepted, bench.rounds / 10) << weights;
  }
  EXPECT_GE(bench.prompts().size(), 7U);
  ExpectCounts(tally,
               static_cast<int>(formats.size() * bench.prompts().size()));
}

// Field pitfall 19, by trees and not by texts alone: what a policy learnt from
// an earlier prompt would show in them, as what a drafter keeps on purpose
// does.
TEST_P(EveryPreset, DraftsEachPromptAsIfItWereTheFirstOrSaysItDoesNot) {
  Bench bench(GetParam());
  Tally tally;
  const LoadedMethod used = bench.Open(Preset(GetParam()), "f32");
  int unlike = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(8, bench.prompts().size());
       ++i) {
    const LoadedMethod fresh = bench.Open(Preset(GetParam()), "f32");
    const bool same = bench.Trace(*used.decoder, bench.prompts()[i]) ==
                      bench.Trace(*fresh.decoder, bench.prompts()[i]);
    EXPECT_TRUE(same || used.decoder->carries_state()) << "prompt " << i;
    unlike += same ? 0 : 1;
    tally.Count(CaseResult::kProven);
  }
  EXPECT_EQ(unlike > 0, used.decoder->carries_state());
  ExpectCounts(tally, 7);
}

// What drafters carry comes from the prompts before, in their order: together
// is then as alone where they are decoded one at a time.
TEST_P(EveryPreset, DecodesPromptsTogetherAsItDoesAlone) {
  Bench bench(GetParam());
  const std::vector<Prompt> prompts(
      bench.prompts().begin(),
      bench.prompts().begin() +
          static_cast<std::ptrdiff_t>(
              std::min<std::size_t>(9, bench.prompts().size())));
  const auto open = [&] { return bench.Open(Preset(GetParam()), "bf16", "1"); };
  LoadedMethod method = open();
  std::vector<std::string> alone;
  for (const Prompt& prompt : prompts)
    alone.push_back(bench.Trace(*method.decoder, prompt));
  const bool carries = method.decoder->carries_state();
  Tally tally;
  for (int slots : {1, 2, 3, 8}) {
    if (carries) method = open();
    const auto together = bench.TraceTogether(*method.decoder, prompts, slots);
    EXPECT_EQ(together.shared > 0, slots > 1);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      if (carries && slots > 1) {
        tally.LeaveOut("what it carries depends on the order of prompts");
        continue;
      }
      EXPECT_EQ(together.traces[i], alone[i])
          << "prompt " << i << " of " << slots;
      tally.Count(CaseResult::kProven);
    }
  }
  ExpectCounts(tally, 9);
}

// The first round of a preset on the bench's first prompt.
std::string FirstTree(Bench& bench, const std::string& preset,
                      const std::string& temperature) {
  const LoadedMethod method = bench.Open(Preset(preset), "f32", temperature);
  SeededSource random(1);
  std::string tree;
  const auto text = method.decoder->Decode(
      bench.prompts()[0], {.max_new_tokens = 1}, random,
      [&](const RoundRecord& round) { tree = ToText(round.tree); });
  Check(text.ok(), text.status().message());
  return tree;
}

TEST(Eagle1, DrawsWithoutReplacementAboveTemperatureZero) {
  Bench bench("eagle1");
  const auto law = [&](const std::string& temperature) {
    const LoadedMethod method =
        bench.Open(Preset("eagle1"), "f32", temperature);
    return method.decoder->method().trunks[0].draw_kind;
  };
  EXPECT_EQ(law("0"), DrawKind::kDeterministic);
  EXPECT_EQ(law("1"), DrawKind::kWithoutReplacement);
}

// Its published program: eight levels and 59 nodes beside the root, ranked by
// the distribution at temperature 1 whatever the target's.
TEST(Eagle2, HasTheSizesAndTheRanksOfItsProgram) {
  Bench bench("eagle2");
  const LoadedMethod method = bench.Open(Preset("eagle2"), "f32");
  const PolicyTraits traits =
      method.decoder->method().trunks[0].policy->traits();
  EXPECT_EQ(traits.nodes, 59);
  EXPECT_EQ(traits.levels, 8);
  const std::string tree = FirstTree(bench, "eagle2", "1");
  EXPECT_EQ(FirstTree(bench, "eagle2", "0"), tree);
  EXPECT_EQ(FirstTree(bench, "eagle2", "0.5"), tree);
}

// Their programs rank drafts and take the argmax after a path: no draw is left.
TEST(LossyPresets, OfGreedyMethodsGiveOneTextWhateverTheSeed) {
  for (const char* preset : {"bild", "blockwise_distance", "blockwise_top_k",
                             "medusa_typical", "specdec_relaxed"}) {
    Bench bench(preset);
    const LoadedMethod method = bench.Open(Preset(preset), "f32", "1");
    std::set<std::vector<TokenId>> texts;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SeededSource random(seed);
      const auto text = method.decoder->Decode(
          bench.prompts()[0], {.max_new_tokens = kTokens}, random,
          [](const RoundRecord&) {});
      ASSERT_TRUE(text.ok()) << text.status();
      texts.insert(*text);
    }
    EXPECT_EQ(texts.size(), 1U) << preset;
  }
}

// Tokens a millisecond of a method, were its rounds to take what the curve of
// Preset("auto") and a cost of a drafted level say.
double Replayed(Bench& bench, const Params& file, double draft_ms) {
  const LoadedMethod method = bench.Open(file, "f32", "1");
  double tokens = 0;
  double ms = 0;
  for (const Prompt& prompt : bench.prompts()) {
    SeededSource random(1);
    const auto text = method.decoder->Decode(
        prompt, {.max_new_tokens = 2 * kTokens}, random,
        [&](const RoundRecord& round) {
          tokens += static_cast<double>(round.emitted.size());
          ms += 1 + 0.1 * (round.tree.size() - 1) / 64 +
                draft_ms * round.tree.Height();
        });
    Check(text.ok(), text.status().message());
  }
  return tokens / ms;
}

TEST(Auto, ReplayedOnAFlatCurveBeatsEveryChainByItsTrees) {
  Bench bench("auto");
  auto eagle = WithValue(Preset("eagle3"), "policy",
                         *ParseYaml("{name: chain, nodes: 1}", "chain"));
  ASSERT_TRUE(eagle.ok());
  const std::pair<std::string, Params> pairs[] = {
      {"auto", Preset("chain")}, {"eagle_auto", *std::move(eagle)}};
  for (const auto& [name, chain] : pairs) {
    const Params file = Preset(name);
    const absl::StatusOr<Costs> costs =
        ReadCosts(*file.Find("policy")->Find("draft_ms"));
    ASSERT_TRUE(costs.ok()) << costs.status();
    const LevelCosts* level = BestLevel(
        *costs, {.drafter = {.label = name == "auto" ? "pycode-draft-1"
                                                     : "pycode-eagle3"}});
    ASSERT_NE(level, nullptr);
    const double draft_ms = level->ms;
    const double own = Replayed(bench, file, draft_ms);
    double best = 0;
    for (const char* gamma : {"1", "2", "3", "4", "5", "6", "8", "10"}) {
      const auto longer =
          WithValue(chain, "policy.nodes", Params::Scalar(gamma));
      ASSERT_TRUE(longer.ok());
      best = std::max(best, Replayed(bench, *longer, draft_ms));
    }
    std::cout << "  " << name << " " << own
              << " tokens a millisecond, the best chain " << best << "\n";
    EXPECT_GT(own, 1.1 * best) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryPreset, testing::ValuesIn(DraftingPresets()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
