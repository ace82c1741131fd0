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

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/transformer/transformer.h"
#include "drafters/eagle/head.h"
#include "tests/conformance/toys.h"
#include "tests/core/checkpoint/files.h"
#include "tests/core/transformer/walk.h"
#include "tests/support/edited_model.h"
#include "tests/support/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
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
       {"d2t", "t2d says has none"}},
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

TEST(EagleFiles, ThatDoNotFitAreRefused) {
  const auto target =
      LoadModel(absl::StrCat(kFolder, "target"), Backends().front());
  int refused = 0;
  for (const Damage& damage : EveryDamage()) {
    EditedModel edited(absl::StrCat(kFolder, damage.head));
    damage.tensors(edited.files().at("model.safetensors"));
    edited.Write("model.safetensors");
    if (!damage.key.empty()) {
      const std::string config = edited.folder().Read("config.json");
      ASSERT_THAT(config, HasSubstr(damage.key));
      edited.folder().Write(
          "config.json",
          absl::StrReplaceAll(config, {{damage.key, damage.instead}}));
    }
    const std::string said(
        LoadEagleHead(edited.path(), *target).status().message());
    EXPECT_THAT(said, HasSubstr(edited.path())) << damage.head;
    for (const std::string& part : damage.told)
      EXPECT_THAT(said, HasSubstr(part)) << damage.head;
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
