// banyan doctor: heads and a small model that ship, damaged as published ones
// have been, and what it says of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
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
#include "tests/support/made/edited_model.h"
#include "tests/support/sanitized.h"

namespace banyan {
namespace {

using testing::AllOf;
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

nlohmann::json ExamineOwn(const std::string& options) {
  return RunForJson("doctor --model models/pycode-target --json " + options);
}

// The same ones every time, of up to 192 tokens.
TEST(Doctor, WithoutAWorkloadReadsTextsThatTheTargetWrites) {
  const std::string options = absl::StrCat("--head models/pycode-eagle3",
                                           kSanitized ? " --prompts 2" : "");
  const nlohmann::json found = ExamineOwn(options);
  EXPECT_EQ(
      found.at("texts"),
      absl::StrCat(kSanitized ? 2 : 8,
                   " texts that the target wrote itself, at temperature 1 "
                   "and seed 0"));
  EXPECT_TRUE(found.at("better").is_null()) << found;
  EXPECT_FALSE(found.at("weak").get<bool>());
  EXPECT_GT(found.at("places").get<int>(), kSanitized ? 100 : 800);
  EXPECT_GT(found.at("readings")[0].at("overlap")[0].get<double>(), 0.55);
  EXPECT_EQ(found, ExamineOwn(options));
  const nlohmann::json few =
      ExamineOwn("--drafter models/pycode-draft-2 --prompts 1");
  EXPECT_EQ(few.at("texts"),
            "1 text that the target wrote itself, at temperature 1 and seed 0");
  EXPECT_LE(few.at("places").get<int>(), 192);
  EXPECT_EQ(Examine("models/pycode-eagle3").at("texts"),
            "2 texts of experiments/workloads/pycode.jsonl");
}

TEST(Doctor, WritesTextsOnlyForATargetThatCan) {
  const Outcome none = RunProgram(
      "doctor --model models/pycode-target --drafter models/pycode-draft-2 "
      "--prompts 0");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--prompts: expected at least 1 where the "
                                  "target writes the texts itself, found 0"));
  const Outcome bare = RunProgram(
      "doctor --model tests/goldens/eagle/target --drafter "
      "tests/goldens/eagle/target");
  EXPECT_EQ(bare.code, 2);
  EXPECT_THAT(bare.err, HasSubstr("tests/goldens/eagle/target: the model has "
                                  "no tokenizer to begin a text with"));
}

// Of pairs of the text alone it says what the files say.
TEST(Doctor, ShiftsDraftedPairsAlone) {
  const nlohmann::json found = Examine("models/pycode-eagle3");
  const nlohmann::json& said = found.at("readings")[0];
  int shifted = 0;
  for (const nlohmann::json& reading : found.at("readings")) {
    if (reading.at("name").get<std::string>().find("drafted pairs") != 0)
      continue;
    ++shifted;
    ASSERT_EQ(reading.at("overlap").size(), 4U) << reading;
    EXPECT_EQ(reading.at("overlap")[0], said.at("overlap")[0]);
    for (int step = 1; step < 4; ++step) {
      EXPECT_NE(reading.at("overlap")[step], said.at("overlap")[step]);
      EXPECT_NEAR(reading.at("overlap")[step].get<double>(),
                  said.at("overlap")[step].get<double>(), 0.1);
    }
  }
  EXPECT_EQ(shifted, 2);
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

// It tells what it found, and fails as well.
TEST(Doctor, FailsWhereTheFilesCannotBeRead) {
  EditedModel head("models/pycode-eagle1");
  SetNumber(head.files().at("model.safetensors").at("fc.weight"), 3,
            std::nanf(""));
  head.Write("model.safetensors");
  const std::string command = absl::StrCat(
      "doctor --model models/pycode-target --workload "
      "experiments/workloads/pycode.jsonl --prompts 1 --head ",
      head.path());
  const Outcome text = RunProgram(command);
  EXPECT_NE(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("cannot be read as they say"));
  EXPECT_THAT(text.err, AllOf(HasSubstr(head.path()), HasSubstr("fc.weight"),
                              HasSubstr("found nan")));
  const Outcome json = RunProgram(command + " --json");
  EXPECT_NE(json.code, 0);
  EXPECT_THAT(nlohmann::json::parse(json.out).at("readings")[0].at("error"),
              HasSubstr("found nan"));
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

Outcome RunFit(const std::string& drafter, const std::string& options) {
  return RunProgram(
      absl::StrCat("doctor --model models/pycode-target --workload "
                   "experiments/workloads/pycode.jsonl --prompts 2 --drafter ",
                   drafter, options));
}

nlohmann::json ExamineFit(const std::string& drafter) {
  const Outcome outcome = RunFit(drafter, " --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.code == 0 ? nlohmann::json::parse(outcome.out)
                           : nlohmann::json();
}

TEST(DoctorOfModels, FindsThatTheShippedDrafterFits) {
  const nlohmann::json found = ExamineFit("models/pycode-draft-2");
  EXPECT_EQ(found.at("verdict"), "fits");
  EXPECT_TRUE(found.at("fits").get<bool>());
  EXPECT_FALSE(found.at("weak").get<bool>());
  EXPECT_TRUE(found.at("differing").empty());
  EXPECT_GT(found.at("places").get<int>(), 300);
  EXPECT_GT(found.at("overlap").get<double>(), 0.6);
  EXPECT_LT(found.at("overlap").get<double>(), 0.8);
  EXPECT_THAT(RunFit("models/pycode-draft-2", "").out,
              AllOf(HasSubstr("eos_token      0 '<|endoftext|>'        0 '"),
                    HasSubstr(" places\nfits\n")));
}

// Three tokens, so that little of the target's is proposed.
std::string VocabularyOf(int size) {
  return absl::StrCat("{\"tokenizer\": \"\", \"vocab_size\": ", size,
                      ", \"tokens\": [2, 3, 5]}");
}

TEST(DoctorOfModels, ReadsTheDraftVocabularyOfItsFolder) {
  const EditedModel drafter("models/pycode-draft-2");
  drafter.folder().Write("vocabulary.json", VocabularyOf(2048));
  const nlohmann::json found = ExamineFit(drafter.path());
  EXPECT_EQ(found.at("facts")[1].at("name"), "draft tokens");
  EXPECT_EQ(found.at("facts")[1].at("target"), "2048");
  EXPECT_EQ(found.at("facts")[1].at("drafter"), "3 of vocabulary.json");
  EXPECT_LT(found.at("overlap").get<double>(), 0.2);
  EXPECT_TRUE(found.at("weak").get<bool>());
  drafter.folder().Write("vocabulary.json", VocabularyOf(2047));
  EXPECT_EQ(ExamineFit(drafter.path()).at("verdict"),
            "does not fit: vocabulary: expected vocab_size 2048, the target's, "
            "found 2047");
  drafter.folder().Write("vocabulary.json", "[]");
  const Outcome broken = RunFit(drafter.path(), "");
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr(drafter.path() + "/vocabulary.json"));
}

TEST(Doctor, ReadsTheDraftVocabularyOfAHeadsFolder) {
  const EditedModel head("models/pycode-eagle1");
  head.folder().Write("vocabulary.json", VocabularyOf(2048));
  const nlohmann::json found = Examine(head.path());
  EXPECT_LT(found.at("readings")[0].at("overlap")[0].get<double>(), 0.2);
  head.folder().Write("vocabulary.json", VocabularyOf(2047));
  const Outcome refused = RunProgram(
      "doctor --model models/pycode-target --prompts 1 --head " + head.path());
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(head.path() + "/vocabulary.json"),
                                 HasSubstr("expected vocab_size 2048")));
}

TEST(DoctorOfModels, AModelAgreesWithItself) {
  const nlohmann::json found = ExamineFit("models/pycode-target");
  EXPECT_NEAR(found.at("overlap").get<double>(), 1, 1e-9);
  EXPECT_EQ(found.at("same"), 1);
}

TEST(DoctorOfModels, SaysWhatADamagedCopyLacks) {
  struct Case {
    const char* file;
    std::function<void(nlohmann::json& json)> damage;
    const char* verdict;
  };
  const std::vector<Case> cases = {
      {"tokenizer.json",
       [](nlohmann::json& json) {
         nlohmann::json& vocab = json.at("model").at("vocab");
         vocab.at("!").swap(vocab.at("#"));
       },
       "does not fit: 2 tokens are not the target's"},
      {"tokenizer_config.json",
       [](nlohmann::json& json) { json["eos_token"] = "!"; },
       "fits, but its eos_token is another"},
      {"tokenizer_config.json",
       [](nlohmann::json& json) {
         json["pad_token"] = {{"content", "!"}};
       },
       "fits, but its pad_token is another"},
      {"tokenizer_config.json",
       [](nlohmann::json& json) { json["unk_token"] = "!"; },
       "fits, but its unk_token is another"},
      {"config.json",
       [](nlohmann::json& json) {
         json["eos_token_id"] = {0, 1};
       },
       "fits, but it ends a text by another token"},
      {"tokenizer_config.json",
       [](nlohmann::json& json) { json["chat_template"] = "<|im_start|>"; },
       "fits, but its chat template is another"},
      {"config.json",
       [](nlohmann::json& json) {
         json["max_position_embeddings"] = 100;
         json["bos_token_id"] = 7;  // says nothing of a text
       },
       "fits, but it drafts nothing after 100 tokens"},
  };
  for (const Case& damaged : cases) {
    const EditedModel drafter("models/pycode-draft-2");
    nlohmann::json json =
        nlohmann::json::parse(drafter.folder().Read(damaged.file));
    damaged.damage(json);
    drafter.folder().Write(damaged.file, json.dump());
    const nlohmann::json found = ExamineFit(drafter.path());
    EXPECT_EQ(found.at("verdict"), damaged.verdict) << found.dump(1);
  }
}

TEST(DoctorOfModels, NamesTokensThatDiffer) {
  const EditedModel drafter("models/pycode-draft-2");
  nlohmann::json json =
      nlohmann::json::parse(drafter.folder().Read("tokenizer.json"));
  json.at("model").at("vocab").at("!").swap(
      json.at("model").at("vocab").at("#"));
  drafter.folder().Write("tokenizer.json", json.dump());
  EXPECT_THAT(RunFit(drafter.path(), "").out,
              AllOf(HasSubstr("token 1 is '#' here and '!' in the target's"),
                    HasSubstr("token 3 is '!' here and '#' in the target's")));
  EXPECT_EQ(ExamineFit(drafter.path()).at("differing").size(), 2U);
}

TEST(DoctorOfModels, SaysWhatADrafterOfAnotherTokenizerReaches) {
  const nlohmann::json found = ExamineFit("models/pycode-other");
  EXPECT_FALSE(found.at("fits").get<bool>());
  EXPECT_THAT(found.at("verdict").get<std::string>(),
              HasSubstr("tokens are not the target's"));
  EXPECT_EQ(found.at("shared_tokens"), 1654);
  EXPECT_GT(found.at("reach").get<double>(), 0.8);
  EXPECT_LT(found.at("reach").get<double>(), 0.95);
  EXPECT_THAT(RunFit("models/pycode-other", "").out,
              AllOf(HasSubstr("Tokens that both have: 1654, of the "),
                    HasSubstr("what drafter common_tokens can reach")));
  EXPECT_TRUE(ExamineFit("models/pycode-draft-2").at("reach").is_null());
}

TEST(DoctorOfModels, CountsTheSharedTokensOfTheTexts) {
  const EditedModel drafter("models/pycode-draft-2");
  nlohmann::json json =
      nlohmann::json::parse(drafter.folder().Read("tokenizer.json"));
  nlohmann::json& vocab = json.at("model").at("vocab");
  vocab.at("!").swap(vocab.at("#"));
  drafter.folder().Write("tokenizer.json", json.dump());
  const nlohmann::json found = ExamineFit(drafter.path());
  EXPECT_EQ(found.at("shared_tokens"), 2048) << "under other numbers";
  EXPECT_EQ(found.at("reach"), 1);
}

TEST(DoctorOfModels, SaysThatADrafterIsWeakOrOfAnotherVocabulary) {
  EditedModel drafter("models/pycode-draft-2");
  MadeTensor& norm =
      drafter.files().at("model.safetensors").at("model.norm.weight");
  norm.data.assign(norm.data.size(), 0);
  drafter.Write("model.safetensors");
  nlohmann::json found = ExamineFit(drafter.path());
  EXPECT_EQ(found.at("verdict"),
            "weak: its distributions are far from the target's");
  EXPECT_TRUE(found.at("weak").get<bool>());

  found = ExamineFit("tests/goldens/eagle/target");  // it has no tokenizer
  EXPECT_EQ(found.at("verdict"),
            "does not fit: its vocabulary is of another size");
  EXPECT_FALSE(found.at("fits").get<bool>());
  EXPECT_TRUE(found.at("overlap").is_null());
  EXPECT_TRUE(found.at("weak").is_null());
  EXPECT_TRUE(found.at("reach").is_null()) << "nothing says what tokens spell";
}

TEST(Doctor, WantsAHeadOrADrafter) {
  const std::string rest =
      "doctor --model models/pycode-target --workload "
      "experiments/workloads/pycode.jsonl";
  for (const char* given :
       {"", " --head models/pycode-eagle1 --drafter models/pycode-draft-2"}) {
    const Outcome outcome = RunProgram(rest + given);
    EXPECT_NE(outcome.code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("one of --head and --drafter"));
  }
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
