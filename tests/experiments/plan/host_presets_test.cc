// The presets of configs/methods on the host device: at temperature 0 the text
// is that of plain decoding, and every logit that decides a token is
// bit-identical. All presets run on a made target of 80 thousand weights with
// drafters made in the same way; three also run on the shipped models.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "core/prob/sampling_rule.h"
#include "decode/host_cause.h"
#include "decode/method.h"
#include "decode/sequence.h"
#include "experiments/loading/method_file.h"
#include "experiments/plan/params_edit.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/made_model.h"
#include "tests/core/transformer/walk.h"
#include "tests/experiments/preset_bench.h"
#include "tests/experiments/preset_files.h"
#include "tests/support/decoding.h"
#include "tests/support/host_part.h"
#include "tests/support/tally.h"

namespace banyan {
namespace {

constexpr int kTokens = 16;
constexpr int kHeads = 4;

// A model of these layers, its successors mostly those of every other one.
MadeModelOptions Tiny(const std::vector<int>& layers) {
  return {.layers = layers,
          .context_limit = 96,
          .heads = 4,
          .kv_heads = 2,
          .feed_forward = 96,
          .vocab = 90,
          .cyclic = true};
}

// Heads that take what follows for the cycle's.
void WriteHeads(const TestFolder& folder) {
  const MadeModelOptions target = Tiny({});
  const int hidden = target.heads * 16;
  MadeTensors tensors;
  for (int head = 0; head < kHeads; ++head) {
    const std::vector<float> nothing(static_cast<std::size_t>(hidden * hidden));
    tensors[absl::StrCat(head, ".0.linear.weight")] = {
        "F32", {hidden, hidden}, Stored(nothing)};
    tensors[absl::StrCat(head, ".0.linear.bias")] = {
        "F32", {hidden}, Stored({nothing.begin(), nothing.begin() + hidden})};
    tensors[absl::StrCat(head, ".1.weight")] = {
        "F32", {target.vocab, hidden}, Stored(CyclicHead(target, head + 2))};
  }
  folder.Write("model.safetensors", SafetensorsFile(tensors));
  folder.Write("config.json", absl::StrCat("{\"medusa_num_heads\": ", kHeads,
                                           ", \"medusa_num_layers\": 1}"));
}

// A network of zeros around the embedding: what comes out of a pair is its
// token's, of which its output matrix takes the next of the cycle.
void WriteHead(const TestFolder& folder) {
  const MadeModelOptions target = Tiny({});
  const int hidden = target.heads * 16;
  constexpr int kInner = 16;
  const auto zeros = [](int rows, int columns) -> MadeTensor {
    return {
        "F32",
        {rows, columns},
        Stored(std::vector<float>(static_cast<std::size_t>(rows * columns)))};
  };
  std::vector<float> fuse(static_cast<std::size_t>(2 * hidden * hidden));
  for (int i = 0; i < hidden; ++i)
    fuse[static_cast<std::size_t>(i * 2 * hidden + i)] = 1;
  MadeTensors tensors = {
      {"fc.weight", {"F32", {hidden, 2 * hidden}, Stored(fuse)}},
      {"layers.0.post_attention_layernorm.weight",
       {"F32",
        {hidden},
        Stored(std::vector<float>(static_cast<std::size_t>(hidden), 1))}},
      {"lm_head.weight",
       {"F32", {target.vocab, hidden}, Stored(CyclicHead(target, 1))}}};
  for (const char* name : {"q", "k", "v", "o"})
    tensors[absl::StrCat("layers.0.self_attn.", name, "_proj.weight")] =
        zeros(hidden, hidden);
  for (const char* name : {"gate", "up"})
    tensors[absl::StrCat("layers.0.mlp.", name, "_proj.weight")] =
        zeros(kInner, hidden);
  tensors["layers.0.mlp.down_proj.weight"] = zeros(hidden, kInner);
  folder.Write("model.safetensors", SafetensorsFile(tensors));
  folder.Write(
      "config.json",
      absl::StrCat("{\"bias\": false, \"vocab_size\": ", target.vocab,
                   ", \"hidden_size\": ", hidden,
                   ", \"num_hidden_layers\": 1, \"num_attention_heads\": ",
                   target.heads, ", \"intermediate_size\": ", kInner,
                   ", \"max_position_embeddings\": 256}"));
}

// Look-ahead vectors that are embeddings of tokens of one cycle: the target
// takes the next of it for what follows, which at times is so.
void WriteVectors(const TestFolder& folder) {
  const MadeModelOptions target = Tiny({});
  const int hidden = target.heads * 16;
  const std::vector<float> embedding = CyclicHead(target, 0);
  const auto first = embedding.begin() + 61 * hidden;
  folder.Write("model.safetensors",
               SafetensorsFile({{"lookahead.embeddings",
                                 {"F32",
                                  {kHeads, hidden},
                                  Stored({first, first + kHeads * hidden})}}}));
  folder.Write("config.json",
               absl::StrCat("{\"lookahead_vectors\": ", kHeads,
                            ", \"hidden_size\": ", hidden,
                            ", \"vocab_size\": ", target.vocab, "}"));
}

// The target, and by their names in the presets what drafts for it.
struct MadeModels {
  MadeModels() {
    WriteHeads(heads);
    WriteHead(head);
    WriteVectors(vectors);
  }

  MadeModel target{Tiny({0, 1})};
  MadeModel draft{Tiny({0})};
  MadeModel boosted{Tiny({1, 2})};
  TestFolder heads;
  TestFolder head;
  TestFolder vectors;
};

std::vector<Prompt> MadePrompts() {
  return {{1, {7}},
          {2, {3, 50, 21, 22, 23, 3, 50}},
          {3, {61, 62, 63, 64, 60, 61, 62, 63, 9, 61, 62}}};
}

class Bench : public PresetBench {
 public:
  explicit Bench(const MadeModels& models)
      : PresetBench(BackendOf("emulated_gpu"), models.target.path(),
                    MadePrompts(), kTokens),
        folders_({{"draft", models.draft.path()},
                  {"boosted", models.boosted.path()},
                  {"heads", models.heads.path()},
                  {"head", models.head.path()},
                  {"vectors", models.vectors.path()}}) {}

  // A preset with the made models in the place of those that ship, in the same
  // format as the target.
  LoadedMethod OpenMade(const std::string& preset, const std::string& weights,
                        const std::string& temperature = "0") {
    Params file = Preset(preset);
    const auto set = [&](const std::string& path, const Params& value) {
      auto changed = WithValue(file, path, value);
      Check(changed.ok(), changed.status().message());
      file = *changed;
    };
    const Params all = file;
    if (const Params* models = all.Find("models"); models != nullptr)
      for (const Params::Entry& entry : models->entries()) {
        const auto folder = folders_.find(entry.key);
        if (folder == folders_.end()) continue;  // the target itself
        const std::string path = absl::StrCat("models.", entry.key, ".");
        if (entry.key == "heads" || entry.key == "head") {
          set(path + "heads", Params::Scalar(folder->second));
        } else if (entry.key == "vectors") {
          set(path + "embeddings", Params::Scalar(folder->second));
        } else {
          set(path + "directory", Params::Scalar(folder->second));
          set(path + "weights", Params::Scalar(weights));
        }
      }
    // What the made target has fewer layers for.
    const Params* drafters = all.Find("drafters");
    const std::size_t count =
        drafters == nullptr ? 0 : drafters->items().size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::string path = absl::StrCat("drafters.", i, ".");
      if (drafters->items()[i].Find("exits") != nullptr)
        set(path + "exits", Params::List({Params::Scalar("1")}));
      for (const char* blocks : {"attention", "feed_forward"})
        if (drafters->items()[i].Find(blocks) != nullptr)
          set(path + blocks, Params::List({Params::Scalar("1")}));
    }
    return Open(file, weights, temperature);
  }

 private:
  std::map<std::string, std::string> folders_;
};

TEST(HostPresets, OfThePlainOneTheTextIsThatOfPlainDecoding) {
  const MadeModels models;
  Bench bench(models);
  const LoadedMethod plain = bench.OpenMade("plain", "bf16");
  const auto texts = bench.Decode(plain);
  for (std::size_t i = 0; i < bench.prompts().size(); ++i)
    EXPECT_EQ(
        texts.at(i),
        MustDecodePlainly(*plain.target.model, SamplingRule({.temperature = 0}),
                          bench.prompts()[i], {.max_new_tokens = kTokens}))
        << "prompt " << i;
  // And no two texts are one, nor is any of them a single token.
  EXPECT_NE(texts.at(0), texts.at(1));
  EXPECT_NE(texts.at(1), texts.at(2));
}

// Whoever drafts by what tokens spell, for the made models have no tokenizer;
// or what the prompt says, for the made target never does.
bool MadeModelsGiveNothing(const std::string& preset) {
  return preset == "common_tokens" || preset == "rest" ||
         preset == "retokenized" || preset == "reference" ||
         preset == "reference_rewrite";
}

std::vector<std::string> PresetsOfMadeModels() {
  std::vector<std::string> names = DraftingPresets();
  std::erase_if(names, MadeModelsGiveNothing);
  return names;
}

class EveryPresetOnHost : public testing::TestWithParam<std::string> {};

TEST_P(EveryPresetOnHost, LeavesGreedyTextAsItIsInEveryFormat) {
  if (LeftOutOnHost(GetParam())) GTEST_SKIP() << kHostLeftOut;
  const MadeModels models;
  Bench bench(models);
  Tally tally;
  std::uint64_t wrong = 0;
  for (const char* weights : {"f32", "bf16", "q8"}) {
    const auto plain = bench.Decode(bench.OpenMade("plain", weights));
    bench.rounds = bench.drafted = bench.accepted = 0;
    const auto texts = bench.Decode(bench.OpenMade(GetParam(), weights));
    EXPECT_EQ(texts, plain) << weights;
    tally.Count(CaseResult::kProven, static_cast<int>(texts.size()));
    std::cout << "  " << weights << ": " << bench.rounds << " rounds, "
              << bench.accepted << " of " << bench.drafted << " accepted\n";
    // Some of it was right: else nothing was tested.
    EXPECT_GT(bench.accepted, 0U) << weights;
    wrong += bench.drafted - bench.accepted;
  }
  // And some was not, but where the target drafts for itself. In one format a
  // drafter that seldom drafts may be right each time.
  const bool by_itself = absl::StartsWith(GetParam(), "self_") ||
                         GetParam() == "skip_q8" || GetParam() == "triforce";
  EXPECT_TRUE(by_itself || wrong > 0);
  ExpectCounts(tally, 9);
}

TEST_P(EveryPresetOnHost, DecodesPromptsTogetherAsItDoesAlone) {
  if (LeftOutOnHost(GetParam())) GTEST_SKIP() << kHostLeftOut;
  const MadeModels models;
  Bench bench(models);
  const LoadedMethod method = bench.OpenMade(GetParam(), "bf16", "1");
  const LoadedMethod alone = bench.OpenMade(GetParam(), "bf16", "1");
  // What drafters carry comes from the prompts before: together is then as
  // alone where they are decoded one at a time.
  const int slots = method.decoder->carries_state() ? 1 : 2;
  Tally tally;
  const auto together =
      bench.TraceTogether(*method.decoder, bench.prompts(), slots);
  EXPECT_EQ(together.shared > 0, slots > 1);
  for (std::size_t i = 0; i < bench.prompts().size(); ++i) {
    EXPECT_EQ(together.traces[i],
              bench.Trace(*alone.decoder, bench.prompts()[i]))
        << "prompt " << i;
    tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, 3);
}

INSTANTIATE_TEST_SUITE_P(All, EveryPresetOnHost,
                         testing::ValuesIn(PresetsOfMadeModels()),
                         [](const auto& row) { return row.param; });

class ShippedOnHost : public testing::TestWithParam<std::string> {};

TEST_P(ShippedOnHost, LeavesGreedyTextAsItIs) {
  if (LeftOutOnHost("shipped")) GTEST_SKIP() << kHostLeftOut;
  Tally tally;
  PresetBench bench(BackendOf("emulated_gpu"), kShippedTarget,
                    ShippedPrompts(1), kTokens);
  const auto plain = bench.Decode(bench.Open(Preset("plain"), "auto"));
  bench.rounds = bench.drafted = bench.accepted = 0;
  const auto texts = bench.Decode(bench.Open(Preset(GetParam()), "auto"));
  EXPECT_EQ(texts, plain);
  tally.Count(CaseResult::kProven);
  std::cout << "  " << bench.rounds << " rounds, " << bench.accepted << " of "
            << bench.drafted << " accepted\n";
  EXPECT_GT(bench.accepted, 0U);
  ExpectCounts(tally, 1);
}

// Presets whose rounds a device runs, every one: on this processor many, in the
// emulated GPU's kernels a few, but for those that another one's kernels test.
const char* const kOfText[] = {"hybrid", "recycling", "relay", "sam_eagle"};
class OwnRounds : public testing::TestWithParam<std::string> {};

TEST_P(OwnRounds, AreTheHosts) {
  const bool of_text = absl::c_linear_search(kOfText, GetParam());
  for (const bool emulated : {false, true}) {
    if (emulated && (of_text || LeftOutOnHost("shipped"))) continue;
    PresetBench bench(BackendOf(emulated ? "emulated_gpu" : "cpu"),
                      kShippedTarget, PromptsFor(GetParam(), emulated ? 1 : 2),
                      emulated ? 3 : 60);
    for (const char* temperature : {"0", "1"}) {
      const LoadedMethod method =
          bench.Open(Preset(GetParam()), "auto", temperature);
      for (const Prompt& prompt : bench.prompts()) {
        method.decoder->method().rounds = RoundsOn::kDevice;
        const std::string own = bench.Trace(*method.decoder, prompt);
        method.decoder->method().rounds = RoundsOn::kHost;
        EXPECT_EQ(own, bench.Trace(*method.decoder, prompt))
            << temperature << ", prompt " << prompt.id;
      }
      if (emulated || method.decoder->carries_state()) continue;
      method.decoder->method().rounds = RoundsOn::kDevice;
      const auto together =
          bench.TraceTogether(*method.decoder, bench.prompts(), 2);
      EXPECT_GT(together.shared, 0);
      for (std::size_t i = 0; i < bench.prompts().size(); ++i)
        EXPECT_EQ(together.traces[i],
                  bench.Trace(*method.decoder, bench.prompts()[i]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Some, OwnRounds,
                         testing::Values("specinfer_2", "merged_heads",
                                         "eagle_merged", "copy", "suffix",
                                         "ngram", "eagle2", "medusa", "hybrid",
                                         "recycling", "relay", "sam_eagle"),
                         [](const auto& row) { return row.param; });

INSTANTIATE_TEST_SUITE_P(Some, ShippedOnHost,
                         testing::Values("medusa", "sequoia", "specinfer_1",
                                         "eagle3"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
