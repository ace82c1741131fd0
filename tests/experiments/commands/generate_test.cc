// banyan generate, as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"
#include "tests/support/made/edited_model.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

using Json = nlohmann::json;

std::string On(const std::string& golden) {
  return "generate --model " + GoldenFolder(golden) + " ";
}

std::string Method(const std::string& name) {
  return " --method configs/methods/" + name + ".yaml ";
}

std::size_t Count(absl::string_view text, absl::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != absl::string_view::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

// What nothing reads is a line on standard error; the rest stays as it is.
TEST(Generate, WarnsOfTensorsThatNothingReads) {
  EditedModel model(GoldenFolder("llama"));
  const std::string command = "generate --model " + model.path() +
                              " --ids 1,2 --max-new-tokens 3 --temperature 0" +
                              Method("self_q8_chain") + "--json";
  Json expected = RunForJson(command);
  model.files()["model.safetensors"]["unread"] = {"U8", {1}, "x"};
  model.Write("model.safetensors");
  const Outcome outcome = RunProgram(command);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "banyan: warning: " + model.path() +
                             ": 1 tensor is not read: 'unread'\n");
  Json found = Json::parse(outcome.out);
  for (Json* json : {&expected, &found})
    for (const char* time : {"ms_per_token", "phases_ms"}) json->erase(time);
  EXPECT_EQ(found, expected);
}

// Numbers that leave the range of floats are an error and no token, drafted or
// not.
TEST(Generate, SaysThatAPassOverflowed) {
  EditedModel model(GoldenFolder("llama"));
  for (auto& [name, tensor] : model.files()["model.safetensors"])
    if (absl::EndsWith(name, "layers.1.mlp.up_proj.weight"))
      for (std::int64_t at = 0; at < CountOf(tensor); ++at)
        SetNumber(tensor, at, 0x1.fep127F);
  model.Write("model.safetensors");
  for (const char* method : {"plain", "self_q8_tree"})
    for (const char* temperature : {"0", "1"}) {
      const Outcome outcome = RunProgram(
          absl::StrCat("generate --model ", model.path(),
                       " --ids 1,2,3 --max-new-tokens 3 --temperature ",
                       temperature, Method(method)));
      EXPECT_EQ(outcome.code, 2) << outcome.output;
      EXPECT_EQ(outcome.out, "1,2,3") << "the prompt, and nothing after it";
      EXPECT_THAT(outcome.err, HasSubstr("the logit of token ")) << method;
    }
}

class GenerateGolden : public testing::TestWithParam<std::string> {};

// Losslessness at temperature 0 is identity, which any wrong row, cache or
// position would break.
TEST_P(GenerateGolden, GivesThePlainIdsByEveryMethodAtTemperatureZero) {
  const GoldenNumbers golden = ReadGolden(GetParam());
  for (const char* weights : {"f32", "bf16"}) {
    const std::string command = absl::StrCat(
        On(GetParam()), "--temperature 0 --max-new-tokens 40 --json --weights ",
        weights, " --ids ", absl::StrJoin(golden.ids, ","));
    const Json plain = RunForJson(command + " --ignore-eos");
    ASSERT_FALSE(plain.is_null());
    EXPECT_GE(plain.at("ids").size(), 13u);  // gpt2's context ends there
    for (const char* method : {"plain", "self_q8_chain", "self_q8_tree"}) {
      const Json json = RunForJson(command + " --ignore-eos" + Method(method));
      EXPECT_EQ(json.at("ids"), plain.at("ids")) << method << weights;
      EXPECT_EQ(json.at("stop_reason"), plain.at("stop_reason")) << method;
      EXPECT_EQ(json.at("lossless"), true) << method;
      // Ending at an end of text, too.
      EXPECT_EQ(RunForJson(command + Method(method)).at("ids"),
                RunForJson(command).at("ids"))
          << method << weights;
    }
  }
}

TEST_P(GenerateGolden, BeginsWithTheLikeliestTokenOfAnotherImplementation) {
  const GoldenNumbers golden = ReadGolden(GetParam());
  const auto& logits = golden.logits64.back();
  const auto likeliest =
      std::max_element(logits.begin(), logits.end()) - logits.begin();
  const Json json = RunForJson(On(GetParam()) +
                               "--weights f32 --temperature 0 --json --ids " +
                               absl::StrJoin(golden.ids, ","));
  EXPECT_EQ(json.at("ids").at(0), likeliest);
  EXPECT_EQ(json.at("prompt_ids"), Json(golden.ids));
}

INSTANTIATE_TEST_SUITE_P(Families, GenerateGolden,
                         testing::ValuesIn(GoldenNames()),
                         [](const auto& row) { return row.param; });

TEST(Generate, TellsTheFactsOfEveryRoundInJson) {
  const Json json = RunForJson(On("llama") +
                               "--ids 1,5,9 --max-new-tokens 20 --seed 7 "
                               "--ignore-eos --json" +
                               Method("self_q8_tree"));
  ASSERT_FALSE(json.is_null());
  EXPECT_EQ(json.at("ids").size(), 20u);
  EXPECT_TRUE(json.at("text").is_null());  // there is no tokenizer
  EXPECT_EQ(json.at("stop_reason"), "length");
  EXPECT_EQ(json.at("seed"), 7);
  EXPECT_EQ(json.at("method").at("name"), "self_q8_tree");
  EXPECT_EQ(json.at("method").at("verifier"), "multi_round");
  EXPECT_EQ(json.at("method").at("trunks").at(0).at("policy"), "expansion");
  EXPECT_EQ(json.at("weights"), "bf16");
  ASSERT_EQ(json.at("rounds").size(), json.at("round_count"));
  int emitted = 0;
  for (const Json& round : json.at("rounds")) {
    EXPECT_LE(round.at("nodes"), 14);  // <2, 2, 1, 1>
    EXPECT_GE(round.at("nodes"), 4);
    EXPECT_EQ(round.at("probes"), 0);
    EXPECT_LE(round.at("accepted"), 4);
    EXPECT_LE(round.at("emitted"), round.at("accepted").get<int>() + 1);
    emitted += round.at("emitted").get<int>();
  }
  EXPECT_EQ(emitted, 20);
  EXPECT_DOUBLE_EQ(json.at("tokens_per_target_pass").get<double>(),
                   20.0 / json.at("round_count").get<double>());
  for (const char* phase :
       {"prefill", "draft", "derive", "target", "verify", "commit"})
    EXPECT_GT(json.at("phases_ms").at(phase).get<double>(), 0) << phase;
}

TEST(Generate, FollowsTheSeedAlone) {
  const std::string command = On("llama") + "--ids 1,5 --json --ignore-eos";
  const Json first = RunForJson(command + " --seed 1").at("ids");
  EXPECT_EQ(first, RunForJson(command + " --seed 1 --threads 1").at("ids"));
  EXPECT_NE(first, RunForJson(command + " --seed 2").at("ids"));
  EXPECT_EQ(RunForJson(command).at("ids"),
            RunForJson(command + " --seed 0").at("ids"));
}

// Tokens end a text with about 1 in 83 each: one of thirty texts of 60 does.
TEST(Generate, StopsAtTheEndOfTheTextUnlessToldToGoOn) {
  for (int seed = 0; seed < 30; ++seed) {
    const std::string command =
        absl::StrCat(On("llama"), "--ids 1,5 --json --seed ", seed);
    const Json stopped = RunForJson(command);
    if (stopped.at("stop_reason") != "end_of_text") continue;
    EXPECT_THAT(stopped.at("ids").back().get<int>(), testing::AnyOf(2, 7));
    const Json on = RunForJson(command + " --ignore-eos");
    ASSERT_GT(on.at("ids").size(), stopped.at("ids").size());
    for (std::size_t i = 0; i < stopped.at("ids").size(); ++i)
      EXPECT_EQ(on.at("ids")[i], stopped.at("ids")[i]) << i;
    return;
  }
  FAIL() << "no text ended";
}

TEST(Generate, StopsAtTheContextLimitAndSaysSo) {
  // Sixty-four positions: the last token emitted needs none.
  const std::string command =
      On("llama") + "--ids 1,5,9 --ignore-eos --max-new-tokens 500";
  for (const char* method : {"plain", "self_q8_tree"}) {
    const Json json = RunForJson(command + " --json" + Method(method));
    EXPECT_EQ(json.at("stop_reason"), "context") << method;
    EXPECT_EQ(json.at("ids").size(), 62u) << method;
  }
  EXPECT_THAT(RunProgram(command).err,
              HasSubstr("stopped at the context limit of 64 tokens"));
}

TEST(Generate, WritesIdsWhereThereIsNoTokenizer) {
  const std::string command =
      On("llama") + "--ids 1,5 --max-new-tokens 3 --ignore-eos";
  const Json json = RunForJson(command + " --json");
  const Outcome outcome = RunProgram(command);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(
      outcome.out,
      absl::StrCat("1,5,",
                   absl::StrJoin(json.at("ids").get<std::vector<int>>(), ","),
                   "\n"));
}

TEST(Generate, SummarisesOnStandardError) {
  const Outcome outcome = RunProgram(
      On("llama") + "--ids 1,5 --max-new-tokens 3 --ignore-eos --threads 1");
  EXPECT_THAT(
      outcome.err,
      MatchesRegex(
          "banyan: prompt: 2 tokens at [0-9.]+ tokens/s \\([0-9.]+ ms a "
          "token\\)\n"
          "banyan: text: 3 tokens at [0-9.]+ tokens/s \\([0-9.]+ ms a "
          "token\\); 1\\.00 tokens per target pass in 3 rounds; stopped at "
          "--max-new-tokens\n"
          "banyan: ms: prefill [0-9.]+, draft 0\\.00, derive [0-9.]+, target "
          "[0-9.]+, verify [0-9.]+, commit [0-9.]+\n"
          "banyan: method plain, verifier match, lossless; bf16 "
          "weights on cpu [A-Z0-9_]+, 1 thread\n"));
}

TEST(Generate, CountsOneOfAThing) {
  EXPECT_THAT(
      RunProgram(On("llama") + "--ids 1,5 --max-new-tokens 1 --ignore-eos").err,
      AllOf(HasSubstr("banyan: text: 1 token at "),
            HasSubstr(" in 1 round; ")));
}

constexpr char kFive[] =
    "generate --model models/pycode-target --prompt "
    "'def add(a, b):' --max-new-tokens 20 --ignore-eos ";

TEST(Generate, FindsAPresetByName) {
  const Json json = RunForJson(std::string(kFive) +
                               "--temperature 0 --json --method specinfer_2");
  EXPECT_EQ(json.at("method").at("name"), "specinfer_2");
  EXPECT_EQ(
      json.at("ids"),
      RunForJson(std::string(kFive) + "--temperature 0 --json").at("ids"));
  const Outcome wrong = RunProgram(std::string(kFive) + "--method specinfer2");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err,
              AllOf(HasSubstr("unknown preset 'specinfer2'; did you mean "
                              "'specinfer_2'?"),
                    HasSubstr("banyan list presets")));
}

TEST(Generate, ComparesWithPlainDecoding) {
  const std::string command =
      std::string(kFive) + "--temperature 0 --compare --method specinfer_2";
  const Outcome outcome = RunProgram(command);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(
      outcome.out,
      ContainsRegex("plain [0-9.]+ tokens/s, specinfer_2 [0-9.]+ tokens/s: "
                    "[0-9.]+x, [0-9.]+ tokens per pass, same text "
                    "\\([0-9]+ runs each\\)\n"));
  const std::string text = outcome.out.substr(0, outcome.out.find('\n'));
  EXPECT_EQ(Count(outcome.out, text), 2u) << outcome.out;
  const Json json = RunForJson(command + " --json");
  const Json& comparison = json.at("comparison");
  EXPECT_EQ(comparison.at("same_text"), true);
  EXPECT_EQ(json.at("ids"), json.at("plain").at("ids"));
  EXPECT_DOUBLE_EQ(comparison.at("speedup").get<double>(),
                   comparison.at("plain_ms_per_token").get<double>() /
                       comparison.at("ms_per_token").get<double>());
  EXPECT_DOUBLE_EQ(comparison.at("tokens_per_target_pass").get<double>(),
                   json.at("tokens_per_target_pass").get<double>());
}

// The second time it would know the text.
TEST(Generate, ComparesOnceWithAMethodThatLearns) {
  const auto pairs = [](const std::string& method) {
    return RunForJson(std::string(kFive) +
                      "--temperature 0 --compare --json --method " + method)
        .at("comparison")
        .at("pairs")
        .get<int>();
  };
  EXPECT_EQ(pairs("suffix_warm"), 1);
  EXPECT_GT(pairs("suffix"), 1);
}

TEST(Generate, ComparesDrawsOfOneDistribution) {
  EXPECT_THAT(
      RunProgram(std::string(kFive) + "--compare --method specinfer_2").out,
      HasSubstr(", two draws of one distribution ("));
  EXPECT_EQ(
      RunForJson(std::string(kFive) + "--compare --json --method specinfer_2")
          .at("comparison")
          .at("same_text"),
      Json());
}

TEST(Generate, ColoursWhatWasAcceptedAsTheRoundsSay) {
  const std::string command = On("llama") +
                              "--ids 1,5 --max-new-tokens 30 --ignore-eos" +
                              Method("self_q8_chain");
  const Json json = RunForJson(command + " --json");
  std::size_t accepted = 0;
  std::size_t bonus = 0;
  for (const Json& round : json.at("rounds")) {
    accepted += std::min(round.at("accepted").get<std::size_t>(),
                         round.at("emitted").get<std::size_t>());
    if (round.at("accepted") == round.at("nodes") &&
        round.at("emitted") > round.at("accepted"))
      ++bonus;
  }
  EXPECT_GT(bonus, 0u);
  const Outcome outcome = RunProgram(command + " --color always");
  EXPECT_EQ(Count(outcome.out, "\x1b[2m"), 2u);  // the prompt
  EXPECT_EQ(Count(outcome.out, "\x1b[32m"), accepted);
  EXPECT_EQ(Count(outcome.out, "\x1b[36m"), bonus);
  EXPECT_EQ(Count(outcome.out, "\x1b[31m"), 30 - accepted - bonus);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("\x1b[32maccepted\x1b[0m"),
                                 HasSubstr("\x1b[36mbonus\x1b[0m")));
  for (const char* color : {"", " --color auto", " --color never"}) {
    const Outcome plain = RunProgram(command + color);
    EXPECT_THAT(plain.output, Not(HasSubstr("\x1b"))) << color;
    EXPECT_EQ(plain.code, 0) << color;
  }
  EXPECT_THAT(RunProgram(command + " --json --color always").out,
              Not(HasSubstr("\x1b")));
}

// What a number in config.json counts differs from layout to layout.
TEST(Generate, SaysOnceWhichStatesAHeadReads) {
  const std::string command =
      "generate --model models/pycode-target --prompt def --max-new-tokens 4";
  const Outcome outcome = RunProgram(command + Method("eagle3"));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(
      std::vector<std::string>(absl::StrSplit(outcome.err, '\n')),
      testing::Contains(
          AllOf(testing::StartsWith("banyan: the head ("),
                HasSubstr("pycode-eagle3) is EAGLE-3 "),
                HasSubstr("reads the target's states after layer 1, layer 3, "
                          "layer 4 (counted from 1; the file counts the layer "
                          "that they leave)")))
          .Times(1));
  EXPECT_THAT(RunProgram(command + Method("medusa")).err,
              Not(HasSubstr("head")));
}

TEST(Generate, EndsWhenNobodyReads) {
  const Outcome full = RunProgram(On("llama") + "--ids 1 >/dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_THAT(full.err, HasSubstr("the output could not be written"));
}

// Never on another device instead.
TEST(Generate, SaysWhatTheGpuLacks) {
  const Outcome outcome = RunProgram(
      "generate --model tests/goldens/checkpoints/llama --ids 1,2 --device "
      "cuda --max-new-tokens 1 --json");
  if (outcome.code == 0) {
    EXPECT_EQ(nlohmann::json::parse(outcome.out).at("device"), "cuda");
    GTEST_SKIP() << "there is a GPU";
  }
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, testing::StartsWith("banyan: cuda: "));
}

TEST(Generate, RefusesBadInput) {
  struct Case {
    std::string arguments;
    std::string reason;
  };
  const std::string llama = On("llama");
  const std::string ids = llama + "--ids 1 ";
  std::string long_ids = "1";
  for (int i = 0; i < 64; ++i) long_ids += ",1";
  for (const Case& bad : std::vector<Case>{
           {"generate --model no_such_folder --ids 1",
            "there is no 'no_such_folder'; a model is a directory"},
           {ids + "--compare", "--compare: expected --method"},
           {llama, "give either --prompt or --ids"},
           {ids + "--prompt a", "not both"},
           {llama + "--prompt a",
            "--prompt: the model has no tokenizer (tests/goldens/checkpoints/"
            "llama/tokenizer.json: No such file or directory); give --ids"},
           {llama + "--ids 1,x", "found 'x'"},
           {llama + "--ids 83", "found 83"},
           {llama + "--ids " + long_ids,
            "the prompt has 65 tokens, the context holds 64"},
           {ids + "--chat raw", "--chat goes with --prompt, not with --ids"},
           {ids + "--max-new-tokens 0", "--max-new-tokens: expected at least"},
           {ids + "--max-new-tokens -4", "found -4"},
           {ids + "--temperature -0.5", "--temperature: "},
           {ids + "--temperature nan", "found 'nan'"},
           {ids + "--temperature hot", "found 'hot'"},
           {ids + "--top-k -1", "--top-k: "},
           {ids + "--top-k 1.5", "found '1.5'"},
           {ids + "--top-p 1.5", "must lie in (0, 1]"},
           {ids + "--min-p -1", "must lie in [0, 1]"},
           {ids + "--repetition-penalty 0", "must be positive"},
           {ids + "--seed -1", "--seed: expected a whole number"},
           {ids + "--seed x", "found 'x'"},
           {ids + "--weights q5", "auto, f32, bf16, q8 or q4"},
           {ids + "--threads -1", "threads: expected 0 to"},
           {ids + "--threads x",
            "--threads: expected a whole number, found 'x'"},
           {ids + "--max-new-tokens 1e9",
            "--max-new-tokens: expected a whole number, found '1e9'"},
           {ids + "--color blue", "--color"},
           {ids + "--method no_such.yaml", "no_such.yaml: No such file"},
       }) {
    const Outcome outcome = RunProgram(bad.arguments);
    EXPECT_EQ(outcome.code, 2) << bad.arguments << "\n" << outcome.output;
    EXPECT_THAT(outcome.err, HasSubstr(bad.reason)) << bad.arguments;
    EXPECT_EQ(outcome.out, "") << bad.arguments;
  }
}

}  // namespace
}  // namespace banyan
