// Heads that do not fit, or whose files contradict themselves: each is refused
// before the first token, by file and tensor or key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "core/base/common.h"
#include "core/transformer/transformer.h"
#include "drafters/heads/eagle/head.h"
#include "tests/conformance/toys.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/made/edited_model.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr char kFolder[] = "tests/goldens/eagle/";

using Replacements = std::vector<std::pair<const char*, const char*>>;

// A golden head with something changed.
struct Damage {
  std::string head;
  std::function<void(MadeTensors& tensors)> tensors;
  std::string key;  // what config.json has, and what it gets instead
  std::string instead;
  std::vector<std::string> told;
};

void SetInteger(MadeTensor& tensor, std::size_t at, std::int64_t value) {
  std::memcpy(&tensor.data[at * sizeof(value)], &value, sizeof(value));
}

std::vector<Damage> EveryDamage() {
  const auto none = [](MadeTensors& /*tensors*/) {};
  return {
      {"eagle1",
       [](MadeTensors& tensors) { tensors.erase("fc.weight"); },
       "",
       "",
       {"1 of the weights missing: fc.weight"}},
      {"eagle1",
       [](MadeTensors& tensors) {
         tensors["fc.extra"] = tensors.at("fc.bias");
       },
       "",
       "",
       {"1 tensor is not read: 'fc.extra'"}},
      {"eagle1",
       [](MadeTensors& tensors) {
         tensors.at("fc.weight").shape = {36, 18};
       },
       "",
       "",
       {"fc.weight", "expected shape [18, 36], found [36, 18]"}},
      {"eagle1",
       [](MadeTensors& tensors) {
         SetNumber(tensors.at("fc.weight"), 40,
                   std::numeric_limits<float>::quiet_NaN());
       },
       "",
       "",
       {"fc.weight", "row 1, column 4", "found nan"}},
      {"eagle1",
       none,
       "\"hidden_size\": 18",
       "\"hidden_size\": 24",
       {"config.json: hidden_size", "expected the target's 18, found 24"}},
      {"eagle1",
       [](MadeTensors& tensors) {
         tensors["lm_head.weight"] = tensors.at("embed_tokens.weight");
       },
       "\"hidden_size\": 18",
       "\"target_hidden_size\": 18, \"hidden_size\": 12",
       {"hidden_size", "expected 18", "found 12"}},
      {"eagle1",
       none,
       "\"vocab_size\": 61",
       "\"vocab_size\": 60",
       {"vocab_size", "the target's vocabulary of 61"}},
      {"eagle1",
       none,
       "\"mlp_bias\": false",
       "\"shortcut\": true",
       {"config.json: shortcut", "nobody here knows this flag"}},
      {"eagle1",
       none,
       "\"num_hidden_layers\": 1",
       "\"num_hidden_layers\": 2",
       {"num_hidden_layers", "expected 1"}},
      {"eagle3_specforge",
       none,
       "      6\n",
       "      9\n",
       {"eagle_aux_hidden_state_layer_ids", "below 9, found 9"}},
      {"eagle3_specforge",
       none,
       "      6\n",
       "      4\n",
       {"eagle_aux_hidden_state_layer_ids", "ascending", "found 4"}},
      {"eagle3_speculators",
       none,
       "\"norm_before_residual\": true",
       "\"norm_before_everything\": true",
       {"norm_before_everything", "nobody here knows this flag"}},
      {"eagle3_speculators",
       none,
       "\"eagle3\",\n  \"speculators_version\"",
       "\"hydra\",\n  \"speculators_version\"",
       {"speculators_model_type", "\"eagle3\" or \"mtp\""}},
      {"eagle31_input_norm",
       none,
       "\"fc_norm\": false",
       "\"fc_norm\": true",
       {"fc_norm", "norm_before_fc is set too"}},
      {"eagle31_input_norm",
       [](MadeTensors& tensors) { tensors.erase("lm_head.weight"); },
       "",
       "",
       {"hidden_size", "15 is not the target's 18", "lm_head.weight"}},
      {"eagle3_safeai",
       [](MadeTensors& tensors) { SetInteger(tensors.at("d2t"), 22, 60); },
       "",
       "",
       {"d2t", "row 22", "leads to token 82"}},
      {"eagle3_safeai",
       [](MadeTensors& tensors) { tensors.erase("d2t"); },
       "",
       "",
       {"d2t", "draft_vocab_size"}},
      {"eagle3_safeai",
       [](MadeTensors& tensors) {
         for (std::size_t i = 0; i < 61; ++i) tensors.at("t2d").data[i] = 0;
       },
       "",
       "",
       {"'t2d': expected 23 tokens that have a logit", "found 0"}},
      {"mtp_mimo",
       [](MadeTensors& tensors) {
         tensors["model.layers.61.eh_proj.weight"] =
             tensors.at("model.mtp_layers.0.input_proj.weight");
       },
       "",
       "",
       {"model_type",
        "as of DeepSeek-V3 and GLM-4.5, which nobody here reads"}},
      {"mtp_mimo",
       none,
       "\"num_nextn_predict_layers\": 1",
       "\"num_nextn_predict_layers\": 3",
       {"num_nextn_predict_layers", "expected 1, found 3"}},
  };
}

// A head whose config.json and tensors say different things.
std::vector<Damage> EveryContradiction() {
  const auto none = [](MadeTensors& /*tensors*/) {};
  const char* const type = "\"model_type\": \"llama\"";
  const auto with = [&](const char* more) {
    return absl::StrCat(type, ", ", more);
  };
  const auto keep_all = [](MadeTensors& tensors) {
    for (char& flag : tensors.at("t2d").data) flag = 1;
  };
  return {
      {"eagle1",
       none,
       "LlamaForCausalLM",
       "LlamaForCausalLMEagle3",
       {"architectures", "'LlamaForCausalLMEagle3' is EAGLE-3",
        "those of EAGLE-1"}},
      {"eagle1",
       none,
       type,
       with("\"draft_vocab_size\": 23"),
       {"draft_vocab_size", "the target's vocabulary of 61", "found 23"}},
      {"eagle1",
       none,
       type,
       with("\"draft_vocab_size\": -1"),
       {"draft_vocab_size", "a positive integer, found -1"}},
      {"eagle1",
       none,
       type,
       with("\"draft_vocab_size\": \"a\""),
       {"draft_vocab_size", "found \"a\""}},
      {"eagle1",
       none,
       type,
       with("\"eagle_config\": \"x\""),
       {"eagle_config: is a key of EAGLE-3", "those of EAGLE-1"}},
      {"mtp_mimo",
       none,
       "\"model_type\": \"mimo\"",
       "\"model_type\": \"mimo\", \"draft_vocab_size\": 60",
       {"draft_vocab_size", "multi-token prediction", "found 60"}},
      {"mtp_fast",
       none,
       "\"num_nextn_predict_layers\": 1",
       "\"num_nextn_predict_layers\": 1, \"eagle_config\": {}",
       {"eagle_config: is a key of EAGLE-3", "multi-token prediction"}},
      {"eagle1",
       none,
       type,
       "\"model_type\": \"gpt2\"",
       {"model_type", "llama's layer, found 'gpt2'"}},
      {"eagle1",
       none,
       type,
       "\"model_type\": \"mistral\", \"sliding_window\": 4",
       {"sliding_window", "a window of 4 is shorter"}},
      {"eagle3_speculators",
       none,
       type,
       with("\"layer_types\": [\"sliding_attention\"]"),
       {"transformer_layer_config.layer_types", "expected full_attention",
        "found 'sliding_attention'"}},
      {"eagle3_specforge",
       none,
       "\"use_aux_hidden_state\": true",
       "\"use_aux_hidden_state\": false",
       {"eagle_config.use_aux_hidden_state", "expected true", "found false"}},
      {"eagle3_specforge",
       none,
       type,
       with("\"eagle_aux_hidden_state_layer_ids\": [0, 4, 7]"),
       {"eagle_aux_hidden_state_layer_ids",
        "differs from the list in "
        "eagle_config"}},
      {"eagle3_safeai",
       none,
       type,
       with("\"eagle_aux_hidden_state_layer_ids\": [0, 4, 7]"),
       {"config.json: eagle_aux_hidden_state_layer_ids",
        "expected this list in eagle_config"}},
      {"eagle3_safeai",
       keep_all,
       "",
       "",
       {"'t2d': expected 23 tokens that have a logit", "found 61"}},
      {"eagle3_safeai",
       [](MadeTensors& tensors) {
         std::string& flags = tensors.at("t2d").data;
         std::swap(flags[flags.find('\1')], flags[flags.find('\0')]);
       },
       "",
       "",
       {"'d2t': row 0 leads to token", "which t2d says has none"}},
      {"eagle3_four_taps",
       [](MadeTensors& tensors) {
         for (char& flag : tensors.at("t2d").data) flag = 0;
       },
       "",
       "",
       {"'t2d': expected 25 tokens that have a logit", "found 0"}},
      {"eagle3_four_taps",
       [](MadeTensors& tensors) {
         SetInteger(tensors.at("d2t"), 0, 1'000'000'000);
       },
       "",
       "",
       {"'d2t': row 0", "leads outside the vocabulary of 61"}},
      {"eagle3_safeai",
       [](MadeTensors& tensors) {
         SetInteger(tensors.at("d2t"), 3,
                    std::numeric_limits<std::int64_t>::max());
       },
       "",
       "",
       {"'d2t': row 3: its number 9223372036854775807 leads outside"}},
      {"eagle3_safeai",
       [](MadeTensors& tensors) {
         tensors.erase("midlayer.self_attn.q_proj.weight");
       },
       "",
       "",
       {"missing: midlayer.self_attn.q_proj.weight"}},
      {"mtp_mimo",
       [](MadeTensors& tensors) {
         tensors.erase("model.mtp_layers.0.input_proj.weight");
       },
       "",
       "",
       {"missing: model.mtp_layers.0.input_proj.weight"}},
      {"eagle3_specforge",
       none,
       "\"num_hidden_layers\": 1",
       "\"num_hidden_layers\": true",
       {"num_hidden_layers: expected a positive integer, found true"}},
  };
}

// What is said of it.
std::string ExpectRefused(const Damage& damage, const Model& target) {
  EditedModel edited(absl::StrCat(kFolder, damage.head));
  damage.tensors(edited.files().at("model.safetensors"));
  edited.Write("model.safetensors");
  if (!damage.key.empty()) {
    const std::string config = edited.folder().Read("config.json");
    EXPECT_THAT(config, HasSubstr(damage.key));
    edited.folder().Write(
        "config.json",
        absl::StrReplaceAll(config, {{damage.key, damage.instead}}));
  }
  std::string said(LoadEagleHead(edited.path(), target).status().message());
  EXPECT_THAT(said, HasSubstr(edited.path())) << damage.head;
  for (const std::string& part : damage.told)
    EXPECT_THAT(said, HasSubstr(part)) << damage.head;
  return said;
}

TEST(EagleFiles, ThatContradictThemselvesAreRefused) {
  const auto target =
      LoadModel(absl::StrCat(kFolder, "target"), Backends().front());
  for (const Damage& damage : EveryContradiction())
    EXPECT_THAT(ExpectRefused(damage, *target),
                Not(HasSubstr("knows this flag")));
}

// Beside the weights the speculators leave the target's own final norm.
TEST(EagleFiles, MayHoldTheNormOfTheirTarget) {
  const auto target =
      LoadModel(absl::StrCat(kFolder, "target"), Backends().front());
  EditedModel edited(absl::StrCat(kFolder, "eagle3_speculators"));
  MadeTensors& tensors = edited.files().at("model.safetensors");
  tensors["verifier_norm.weight"] = tensors.at("norm.weight");
  edited.Write("model.safetensors");
  EXPECT_TRUE(LoadEagleHead(edited.path(), *target).ok());
}

TEST(EagleFiles, OfAPickleSayHowToConvertIt) {
  const auto target =
      LoadModel(absl::StrCat(kFolder, "target"), Backends().front());
  const EditedModel edited(absl::StrCat(kFolder, "eagle1"));
  const TestFolder folder;
  folder.Write("config.json", edited.folder().Read("config.json"));
  folder.Write("pytorch_model.bin", "x");
  EXPECT_THAT(
      std::string(LoadEagleHead(folder.path(), *target).status().message()),
      AllOf(HasSubstr("expected model.safetensors"),
            HasSubstr("scripts/train convert"),
            HasSubstr("/pytorch_model.bin --out DIR")));
}

TEST(EagleFiles, ThatDoNotFitAreRefused) {
  const auto target =
      LoadModel(absl::StrCat(kFolder, "target"), Backends().front());
  int refused = 0;
  for (const Damage& damage : EveryDamage()) {
    ExpectRefused(damage, *target);
    ++refused;
  }
  EXPECT_EQ(refused, 20);
}

// Each on a line of its own, whatever else is wrong.
TEST(EagleFiles, SayAllThatIsWrongAtOnce) {
  const auto target =
      LoadModel(absl::StrCat(kFolder, "target"), Backends().front());
  const auto lines = [&](const char* head, const Replacements& keys,
                         const std::function<void(MadeTensors&)>& damage) {
    EditedModel edited(absl::StrCat(kFolder, head));
    damage(edited.files().at("model.safetensors"));
    edited.Write("model.safetensors");
    edited.folder().Write(
        "config.json",
        absl::StrReplaceAll(edited.folder().Read("config.json"), keys));
    const absl::Status status = LoadEagleHead(edited.path(), *target).status();
    return std::vector<std::string>(absl::StrSplit(status.message(), "\n  "));
  };
  const auto damage_tensors = [](MadeTensors& tensors) {
    tensors.at("fc.weight").shape = {54, 18};
    tensors.at("norm.weight").shape = {9, 2};
    tensors.erase("midlayer.mlp.up_proj.weight");
    tensors["extra"] = tensors.at("midlayer.hidden_norm.weight");
  };
  // What is no size hides no tensor, nor the other way round.
  EXPECT_THAT(
      lines("eagle3_specforge",
            {{"\"mlp_bias\": false", "\"mlp_bias\": false, \"shortcut\": true"},
             {"\"use_aux_hidden_state\"", "\"use_no_state\""},
             {"\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2"},
             {"      6\n", "      9\n"}},
            damage_tensors),
      UnorderedElementsAre(
          HasSubstr("shortcut: nobody here knows"),
          HasSubstr("eagle_config.use_no_state: nobody here knows"),
          HasSubstr("num_hidden_layers: expected 1, found 2"),
          HasSubstr("layer_ids: expected ascending numbers below 9, found 9"),
          HasSubstr("'fc.weight': expected shape [18, 54], found [54, 18]"),
          HasSubstr("'norm.weight': expected shape [18], found [9, 2]"),
          HasSubstr("missing: midlayer.mlp.up_proj.weight"),
          HasSubstr("1 tensor is not read: 'extra'")));
  // Where a size is wrong no shape is known.
  EXPECT_THAT(lines("eagle3_specforge",
                    {{"\"hidden_size\": 18", "\"hidden_size\": 24"},
                     {"\"draft_vocab_size\": 61", "\"draft_vocab_size\": 62"},
                     {"\"vocab_size\": 61\n", "\"vocab_size\": 60\n"},
                     {"\"norm_output\": true", "\"norm_output\": 1"},
                     {"      4,\n", "      0,\n"}},
                    damage_tensors),
              UnorderedElementsAre(
                  HasSubstr("hidden_size: expected the target's 18, found 24"),
                  HasSubstr("config.json: vocab_size: expected the target's"),
                  HasSubstr("draft_vocab_size: expected at most 61, found 62"),
                  HasSubstr("norm_output: expected true or false, found 1"),
                  HasSubstr("found 0 at place 1")));
  EXPECT_THAT(lines("eagle3_speculators",
                    {{"\"norm_before_residual\": true", "\"shortcut\": true"},
                     {"\"fc_norm\": false", "\"fc_norm\": 3"}},
                    [](MadeTensors& tensors) {
                      SetInteger(tensors.at("d2t"), 22, 60);
                    }),
              UnorderedElementsAre(HasSubstr("shortcut: nobody here knows"),
                                   HasSubstr("fc_norm: expected true or false"),
                                   HasSubstr("leads to token 82")));
}

TEST(EagleFiles, NeedATransformerOfTheirDepth) {
  EXPECT_THAT(std::string(LoadEagleHead(absl::StrCat(kFolder, "eagle1"),
                                        *Toy({.vocab_size = 61}))
                              .status()
                              .message()),
              HasSubstr("needs a transformer"));
  // The published taps are one and the same on a target of two layers.
  const auto shallow = LoadGolden("llama", Backends().front());
  EXPECT_THAT(std::string(LoadEagleHead(absl::StrCat(kFolder, "eagle3_safeai"),
                                        *shallow)
                              .status()
                              .message()),
              HasSubstr("the target's"));
}

}  // namespace
}  // namespace banyan
