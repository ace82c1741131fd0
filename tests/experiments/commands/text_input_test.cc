// Texts as a user gives them to a model: empty ones, and chats in a template
// whose tokens the model may lack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"
#include "tests/experiments/test_files.h"
#include "tests/support/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Json = nlohmann::json;

// A tokenizer of a few letters, which writes nothing before a text.
Json Letters() {
  return Json::parse(R"({
    "added_tokens": [{"id": 1, "content": "<s>", "special": true},
                     {"id": 2, "content": "</s>", "special": true}],
    "model": {"unk_token": "?", "merges": [],
              "vocab": {"?": 0, "a": 3, "b": 4}}})");
}

// The same, but for <s> before every text.
Json Beginning() {
  Json json = Letters();
  json["post_processor"] = Json::parse(R"({
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}})");
  return json;
}

class TextInput : public FolderTest {
 protected:
  // A model's directory with this tokenizer.
  static std::string Model(const Json& tokenizer) {
    std::filesystem::remove_all(OwnFolder());
    std::filesystem::copy(GoldenFolder("llama"), OwnFolder());
    WriteText(OwnFolder() + "/tokenizer.json", tokenizer.dump());
    return " --model " + OwnFolder() + " ";
  }

  static std::string Chat(const std::string& name) {
    return " --prompt a --max-new-tokens 2 --chat " + name;
  }
};

TEST_F(TextInput, MayBeEmptyWhereTheTokenizerBeginsTexts) {
  const std::string model = Model(Beginning());
  const Json text =
      RunForJson("generate" + model +
                 "--prompt '' --max-new-tokens 2 --ignore-eos --json");
  EXPECT_EQ(text.at("prompt_ids"), Json({1}));
  EXPECT_EQ(text.at("ids").size(), 2u);
  const Json score = RunForJson("score" + model + "--text '' --logits --json");
  EXPECT_EQ(score.at("ids"), Json({1}));
  EXPECT_EQ(score.at("total"), 0);
  EXPECT_TRUE(score.at("mean").is_null());
  EXPECT_THAT(RunProgram("score" + model + "--text ''").out,
              HasSubstr("nothing to score: the first token has none before"));
  EXPECT_THAT(RunProgram("generate" + model + "--prompt '' --no-special").err,
              HasSubstr("--prompt: the text is empty, and --no-special adds "
                        "nothing to it"));
}

TEST_F(TextInput, IsRefusedEmptyWhereTheTokenizerAddsNothing) {
  const std::string model = Model(Letters());
  const std::string reason =
      ": the text is empty, and the tokenizer adds no token to it";
  EXPECT_THAT(RunProgram("generate" + model + "--prompt ''").err,
              HasSubstr("--prompt" + reason));
  EXPECT_THAT(RunProgram("score" + model + "--text ''").err,
              HasSubstr("--text" + reason));
}

TEST_F(TextInput, OfAWorkloadMayBeEmptyToo) {
  const auto check = [](const Json& tokenizer) {
    Model(tokenizer);
    WriteText(OwnFolder() + "/prompts.jsonl",
              R"({"id": "none", "prompt": ""})"
              "\n"
              R"({"id": "some", "prompt": "ab"})"
              "\n");
    WriteText(
        OwnFolder() + "/experiment.yaml",
        "question: Is nothing enough?\n"
        "target: {directory: " +
            OwnFolder() +
            "}\n"
            "workload: {file: prompts.jsonl}\n"
            "limits: {max_new_tokens: 4}\n"
            "methods:\n  guess: {drafters: [{name: ngram}], policy: {name: "
            "chain, gamma: 2}, verifier: {name: match}}\n");
    return RunProgram("check " + OwnFolder() + "/experiment.yaml");
  };
  const Outcome good = check(Beginning());
  EXPECT_EQ(good.code, 0) << good.output;
  EXPECT_THAT(good.out, HasSubstr("2 prompts (2 turns)"));
  const Outcome bad = check(Letters());
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("prompt none: the text is empty, and the "
                                 "tokenizer adds no token to it"));
}

TEST_F(TextInput, IsAChatOnlyForAModelThatCanEndAReply) {
  const Outcome outcome =
      RunProgram("generate" + Model(Beginning()) + Chat("chatml"));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("--chat: chat template chatml ends turns with "
                        "<|im_end|>, which is no token of the model: no reply "
                        "would end"));
}

TEST_F(TextInput, OfAChatWarnsOfOtherTokensThatTheModelLacks) {
  Json json = Beginning();
  json["added_tokens"].push_back(
      {{"id", 5}, {"content", "<|im_end|>"}, {"special", true}});
  const std::string command = "generate" + Model(json);
  const Outcome chatml = RunProgram(command + Chat("chatml"));
  EXPECT_EQ(chatml.code, 0) << chatml.err;
  EXPECT_THAT(chatml.err,
              HasSubstr("banyan: warning: --chat: chat template chatml writes "
                        "<|im_start|>, which is no token of the model: it "
                        "reads the letters\n"));
  const Outcome tekken = RunProgram(command + Chat("mistral_tekken"));
  EXPECT_THAT(tekken.err,
              AllOf(HasSubstr("[INST], [/INST], which are no tokens"),
                    Not(HasSubstr("<s>"))));
  for (const char* name : {"llama2", "mistral", "vicuna", "raw"})
    EXPECT_THAT(RunProgram(command + Chat(name)).err, Not(HasSubstr("warning")))
        << name;
}

}  // namespace
}  // namespace banyan
