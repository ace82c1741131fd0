// banyan doctor: heads that ship, damaged as published ones have been, and what
// it says of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"
#include "tests/support/edited_model.h"

namespace banyan {
namespace {

using testing::HasSubstr;

nlohmann::json Examine(const std::string& head) {
  const Outcome outcome = RunProgram(absl::StrCat(
      "doctor --model models/pycode-target --workload "
      "experiments/workloads/pycode.jsonl --prompts 2 --json --head ",
      head));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.code == 0 ? nlohmann::json::parse(outcome.out)
                           : nlohmann::json();
}

TEST(Doctor, FindsNothingWrongWithTheHeadsThatShip) {
  for (const char* name : {"models/pycode-eagle1", "models/pycode-eagle3"}) {
    const nlohmann::json found = Examine(name);
    EXPECT_TRUE(found.at("better").is_null()) << found;
    EXPECT_FALSE(found.at("weak").get<bool>()) << name;
    EXPECT_GT(found.at("readings").size(), 4U);
    EXPECT_GT(found.at("readings")[0].at("overlap")[0].get<double>(), 0.55);
  }
}

// The halves of every row.
void SwapHalves(MadeTensor& tensor) {
  const auto row = static_cast<std::size_t>(tensor.shape[1]) * 2;  // BF16
  for (std::size_t at = 0; at < tensor.data.size(); at += row) {
    const std::string left = tensor.data.substr(at, row / 2);
    tensor.data.replace(at, row / 2, tensor.data.substr(at + row / 2, row / 2));
    tensor.data.replace(at + row / 2, row / 2, left);
  }
}

void MakeTokens(MadeTensor& tensor) {
  for (std::size_t i = 0; i < tensor.data.size() / sizeof(std::int64_t); ++i) {
    std::int64_t number = 0;
    char* at = &tensor.data[i * sizeof(number)];
    std::memcpy(&number, at, sizeof(number));
    number += static_cast<std::int64_t>(i);
    std::memcpy(at, &number, sizeof(number));
  }
}

// The head in the names of vLLM's speculators, with these keys.
void MakeSpeculators(EditedModel& head, const nlohmann::json& keys) {
  MadeTensors& tensors = head.files().at("model.safetensors");
  MadeTensors renamed;
  for (auto& [name, tensor] : tensors)
    renamed[absl::StrReplaceAll(name, {{"midlayer.", "layers.0."}})] =
        std::move(tensor);
  tensors = std::move(renamed);
  nlohmann::json layer =
      nlohmann::json::parse(head.folder().Read("config.json"));
  nlohmann::json config = {{"speculators_model_type", "eagle3"},
                           {"draft_vocab_size", layer["draft_vocab_size"]},
                           {"eagle_aux_hidden_state_layer_ids", {1, 3, 4}}};
  layer.erase("eagle_config");
  config["transformer_layer_config"] = layer;
  config.update(keys);
  head.folder().Write("config.json", config.dump());
}

struct Damage {
  std::string head;
  std::function<void(EditedModel& head)> damage;
  std::string better;  // what the doctor says; "": nothing
};

TEST(Doctor, NamesWhatADamagedFileSeemsToBreak) {
  const auto tensors = [](EditedModel& head) -> MadeTensors& {
    return head.files().at("model.safetensors");
  };
  const auto set = [](EditedModel& head, const char* key, double value) {
    nlohmann::json config =
        nlohmann::json::parse(head.folder().Read("config.json"));
    config[key] = value;
    head.folder().Write("config.json", config.dump());
  };
  const std::vector<Damage> damages = {
      {"eagle1",
       [&](EditedModel& head) { SwapHalves(tensors(head).at("fc.weight")); },
       "token and vector in the other order"},
      {"eagle3",
       [&](EditedModel& head) {
         for (const char* part : {"q", "k", "v"})
           SwapHalves(tensors(head).at(
               absl::StrCat("midlayer.self_attn.", part, "_proj.weight")));
       },
       "token and vector in the other order"},
      {"eagle3",
       [&](EditedModel& head) { MakeTokens(tensors(head).at("d2t")); },
       "d2t as tokens, not as differences"},
      {"eagle1", [&](EditedModel& head) { set(head, "rope_theta", 3e7); },
       "the target's rotary base"},
      {"eagle3",
       [](EditedModel& head) {
         MakeSpeculators(head, nlohmann::json::object());
       },
       ""},
      {"eagle3",
       [](EditedModel& head) {
         MakeSpeculators(head,
                         {{"eagle_aux_hidden_state_layer_ids", {0, 2, 3}}});
       },
       "the states one layer later"},
      {"eagle3",
       [](EditedModel& head) {
         MakeSpeculators(head, {{"norm_before_residual", true}});
       },
       "going on from the vector before its norm"},
      {"eagle3",
       [](EditedModel& head) {
         MakeSpeculators(head, {{"norm_output", true}});
       },
       "fed back before the final norm"},
  };
  for (const Damage& damage : damages) {
    EditedModel head(absl::StrCat("models/pycode-", damage.head));
    damage.damage(head);
    head.Write("model.safetensors");
    const nlohmann::json found = Examine(head.path());
    if (damage.better.empty())
      EXPECT_TRUE(found.at("better").is_null()) << found.dump(1);
    else
      EXPECT_EQ(found.at("better"), damage.better) << found.dump(1);
  }
}

TEST(Doctor, SaysThatAHeadIsWeak) {
  EditedModel head("models/pycode-eagle1");
  MadeTensor& fuse = head.files().at("model.safetensors").at("fc.weight");
  fuse.data.assign(fuse.data.size(), 0);
  head.Write("model.safetensors");
  const nlohmann::json found = Examine(head.path());
  EXPECT_TRUE(found.at("better").is_null()) << found.dump(1);
  EXPECT_TRUE(found.at("weak").get<bool>());
}

TEST(Doctor, RefusesWhatIsNoHead) {
  const Outcome outcome = RunProgram(
      "doctor --model models/pycode-target --head models/pycode-medusa "
      "--workload experiments/workloads/pycode.jsonl --prompts 1");
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("models/pycode-medusa"));
}

}  // namespace
}  // namespace banyan
