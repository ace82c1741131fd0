// banyan grow, as a user meets it, and how other commands name what it wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"
#include "tests/support/made/edited_model.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string GrowOn(const std::string& golden) {
  return "grow --model " + GoldenFolder(golden) + " ";
}

// Twice the width, two heads and two layers more.
constexpr char kSizes[] = "--hidden 72 --heads 8 --layers 4 --feed-forward 60 ";

TEST(GrowCommand, SaysWhatItWrote) {
  const TestFolder folder;
  const std::string out = folder.path() + "/large";
  const Outcome outcome = RunProgram(GrowOn("llama") + kSizes + "--out " + out);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(out + ": grown from llama\n"),
                                 HasSubstr("before     36       2      6"),
                                 HasSubstr("after      72       4      8")));
  const nlohmann::json json = RunForJson(GrowOn("llama") + kSizes +
                                         "--seed 7 --json --out " + out + "2");
  ASSERT_FALSE(json.is_null());
  EXPECT_EQ(json.at("grown_from"), "llama");
  EXPECT_EQ(json.at("before").at("hidden"), 36);
  EXPECT_EQ(json.at("after").at("heads"), 8);
  EXPECT_EQ(json.at("after").at("kv_heads"), 2);
  EXPECT_EQ(json.at("seed"), 7);
  EXPECT_EQ(json.at("heads"), nlohmann::json::array());
  EXPECT_GT(json.at("bytes").get<double>(),
            2 * json.at("before").at("parameters").get<double>());
}

TEST(GrowCommand, IsNamedByEveryCommandThatRunsTheModel) {
  const TestFolder folder;
  const std::string out = folder.path() + "/large";
  ASSERT_EQ(RunProgram(GrowOn("llama") + kSizes + "--out " + out).code, 0);
  const std::string on = " --model " + out + " ";
  EXPECT_THAT(RunProgram("text score" + on + "--ids 1,2,3").out,
              HasSubstr(out + " (grown from llama)"));
  EXPECT_THAT(
      RunProgram("generate" + on + "--ids 1,2,3 --max-new-tokens 3").err,
      HasSubstr("weights (grown from llama) on"));
  EXPECT_THAT(
      RunProgram("measure" + on + "--batch 1 --context 0 --rounds 1").out,
      HasSubstr(out + " (grown from llama), "));
  for (const std::string command :
       {"text score --ids 1,2,3", "generate --ids 1,2,3 --max-new-tokens 3",
        "measure --batch 1 --context 0 --rounds 1"}) {
    const nlohmann::json grown = RunForJson(command + " --json" + on);
    EXPECT_EQ(grown.at("grown_from"), "llama") << command;
    const nlohmann::json plain =
        RunForJson(command + " --json --model " + GoldenFolder("llama"));
    EXPECT_TRUE(plain.at("grown_from").is_null()) << command;
  }
}

// Makes `folder` a directory of one Medusa head of zeros.
void WriteMedusaHead(int hidden, const TestFolder& folder) {
  const auto zeros = [](std::int64_t count) {
    return std::string(static_cast<std::size_t>(2 * count), '\0');
  };
  folder.Write("config.json", "{}");
  folder.Write("model.safetensors",
               SafetensorsFile(MadeTensors{
                   {"0.0.linear.weight",
                    {"BF16", {hidden, hidden}, zeros(hidden * hidden)}},
                   {"0.0.linear.bias", {"BF16", {hidden}, zeros(hidden)}}}));
}

TEST(GrowCommand, GrowsMedusaHeadsWithTheModel) {
  const TestFolder folder;
  WriteMedusaHead(36, folder);
  const std::string heads = " --heads-from " + folder.path();
  const std::string out = folder.path() + "/large";
  const nlohmann::json json =
      RunForJson(GrowOn("llama") + kSizes + "--json --out " + out + heads +
                 " --heads-out " + out + "_heads");
  ASSERT_FALSE(json.is_null());
  ASSERT_EQ(json.at("heads").size(), 1U);
  EXPECT_EQ(json.at("heads")[0].at("heads"), 1);
  EXPECT_EQ(json.at("heads")[0].at("bytes"), (72 * 72 + 72) * 2);
  EXPECT_TRUE(std::filesystem::exists(out + "_heads/config.json"));
  // Where the model cannot be written, nor are its heads.
  const Outcome outcome = RunProgram(GrowOn("llama") + kSizes + "--out " + out +
                                     heads + " --heads-out " + out + "3");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_FALSE(std::filesystem::exists(out + "3"));
}

TEST(GrowCommand, CopiesDraftVocabularies) {
  const EditedModel drafter("models/pycode-draft-1");
  const EditedModel heads("models/pycode-medusa");
  for (const EditedModel* each : {&drafter, &heads})
    each->folder().Write(
        "vocabulary.json",
        R"({"tokenizer": "", "vocab_size": 2048, "tokens": [2]})");
  const TestFolder folder;
  const Outcome model = RunProgram(absl::StrCat(
      "grow --model ", drafter.path(), " --hidden 128 --heads 4 --out ",
      folder.path(), "/drafter"));
  EXPECT_EQ(model.code, 0) << model.err;
  EXPECT_EQ(folder.Read("drafter/vocabulary.json"),
            drafter.folder().Read("vocabulary.json"));
  const Outcome target = RunProgram(absl::StrCat(
      "grow --model models/pycode-target --hidden 384 --heads 6 --out ",
      folder.path(), "/target --heads-from ", heads.path(), " --heads-out ",
      folder.path(), "/heads"));
  EXPECT_EQ(target.code, 0) << target.err;
  EXPECT_EQ(folder.Read("heads/vocabulary.json"),
            heads.folder().Read("vocabulary.json"));
}

TEST(GrowCommand, GrowsHeadsOfSeveralDraftersWithOneModel) {
  const TestFolder folder;
  WriteMedusaHead(18, folder);
  const std::string out = folder.path() + "/large";
  const std::string eagle = "tests/goldens/eagle/";
  const std::string command =
      "grow --model " + eagle + "target --hidden 72 --heads-from " + eagle +
      "eagle3_safeai --heads-out " + out + "_eagle --heads-from " +
      folder.path() + " --heads-out ";
  // Of two in one folder, be it the model's, nothing is left.
  for (const char* taken : {"_eagle", ""}) {
    const Outcome outcome = RunProgram(command + out + taken + " --out " + out);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("expected an empty folder"));
    EXPECT_FALSE(std::filesystem::exists(out + "_eagle")) << taken;
    EXPECT_FALSE(std::filesystem::exists(out)) << taken;
  }
  const std::string all = command + out + "_medusa --out " + out;
  const nlohmann::json json = RunForJson(all + " --json");
  ASSERT_FALSE(json.is_null());
  ASSERT_EQ(json.at("heads").size(), 2U);
  EXPECT_EQ(json.at("heads")[0].at("out"), out + "_eagle");
  EXPECT_EQ(json.at("heads")[0].at("taps"), 3);
  EXPECT_EQ(json.at("heads")[1].at("out"), out + "_medusa");
  EXPECT_EQ(json.at("heads")[0].at("like_target"), false);
  EXPECT_EQ(json.at("heads")[1].at("blocks"), 1);
  EXPECT_EQ(json.at("heads")[1].at("like_target"), true);
  for (const char* name : {"", "_eagle", "_medusa"})
    EXPECT_TRUE(std::filesystem::exists(out + name + "/config.json")) << name;
}

TEST(GrowCommand, GrowsAnEagleHeadLikeItsTargetWhereThatIsAsked) {
  const TestFolder folder;
  const std::string out = folder.path() + "/large";
  const std::string eagle = "tests/goldens/eagle/";
  const std::string command = "grow --like-target --model " + eagle +
                              "target --hidden 72 --heads-from " + eagle +
                              "mtp_fast --heads-out " + out + "_eagle";
  const nlohmann::json json = RunForJson(command + " --json --out " + out);
  ASSERT_FALSE(json.is_null());
  EXPECT_EQ(json.at("heads")[0].at("like_target"), true);
  EXPECT_THAT(RunProgram(command + "2 --out " + out + "2").out,
              HasSubstr("1 layer, grown to width 72 like the target, "));
}

// Of an experiment on a grown target with a head grown like it, or not.
TEST(GrowCommand, IsNamedByReportsWhereTheHeadKeptItsCost) {
  const std::string eagle = "tests/goldens/eagle/";
  for (const bool like_target : {false, true}) {
    SCOPED_TRACE(like_target);
    const TestFolder folder;
    const std::string at = folder.path() + "/";
    ASSERT_EQ(RunProgram("grow --model " + eagle + "target --hidden 72 --out " +
                         at + "large --heads-from " + eagle +
                         "eagle3_safeai --heads-out " + at + "grown_head" +
                         (like_target ? " --like-target" : ""))
                  .code,
              0);
    folder.Write("workload.jsonl",
                 R"({"id": "a", "kind": "k", "ids": [5, 6, 7]})");
    folder.Write("experiment.yaml", R"(
question: Which?
target: {directory: large}
workload: {file: workload.jsonl}
limits: {max_new_tokens: 2}
sampling: {temperature: 0}
methods:
  chain:
    models: {draft: {heads: grown_head}}
    drafters: [{name: eagle, head: draft}]
    policy: {name: chain, nodes: 2}
    verifier: {name: greedy}
)");
    const Outcome run =
        RunProgram("run " + at + "experiment.yaml --out " + at + "out");
    ASSERT_EQ(run.code, 0) << run.output;
    const std::string report =
        RunProgram("report --format markdown " + at + "out").out;
    const std::string mark = "at the cost of eagle3";
    const std::string note = "at the cost of NAME: heads that stayed";
    if (like_target)
      EXPECT_THAT(report, Not(AnyOf(HasSubstr(mark), HasSubstr(note))));
    else
      EXPECT_THAT(report, AllOf(HasSubstr(mark), HasSubstr(note)));
    const nlohmann::json record = nlohmann::json::parse(
        RunProgram("export --format jsonl --cell chain " + at + "out").out);
    const nlohmann::json& head = record.at("setting").at("models").at(0);
    EXPECT_EQ(head.at("grown_from"), "eagle3_safeai");
    EXPECT_EQ(head.at("old_cost"), !like_target);
  }
}

TEST(GrowCommand, RefusesBadInput) {
  const TestFolder folder;
  const std::string out = "--out " + folder.path() + "/new ";
  struct Case {
    std::string arguments;
    std::string reason;
  };
  for (const Case& bad : std::vector<Case>{
           {"grow --like 110m " + out, "--model is required"},
           {GrowOn("llama") + "--like 110m", "--out is required"},
           {"grow --model no_such_folder --like 110m " + out,
            "no_such_folder/config.json"},
           {GrowOn("gpt2") + "--like 110m " + out, "family gpt2 cannot grow"},
           {GrowOn("llama") + out, "has that size already"},
           {GrowOn("llama") + "--like 3b " + out, "110m, 1b or 7b, found '3b'"},
           {GrowOn("llama") + "--layers 1 " + out, "--layers: the model has 2"},
           {GrowOn("llama") + "--layers 0 " + out, "--layers"},
           {GrowOn("llama") + "--heads 7 " + out,
            "a multiple of the 2 key heads"},
           {GrowOn("llama") + "--layers 3 --seed -1 " + out,
            "--seed: expected"},
           {GrowOn("llama") + "--layers 3 --heads-from x " + out,
            "go together"},
           {GrowOn("llama") + "--layers 3 --heads-out x " + out, "go together"},
           {GrowOn("llama") +
                "--layers 3 --heads-from x --heads-from y --heads-out z " + out,
            "go together, found 2 and 1"},
           {GrowOn("llama") + "--layers 3 --heads-from x --heads-out " +
                folder.path() + "/h " + out,
            "x/config.json"},
           {GrowOn("llama") + "--layers 3 --like-target " + out,
            "--like-target is about heads"},
           {GrowOn("llama") + "--layers 3 --out " + GoldenFolder("llama"),
            "expected an empty folder"},
       }) {
    const Outcome outcome = RunProgram(bad.arguments);
    EXPECT_EQ(outcome.code, 2) << bad.arguments << "\n" << outcome.output;
    EXPECT_THAT(outcome.err, HasSubstr(bad.reason)) << bad.arguments;
    EXPECT_EQ(outcome.out, "") << bad.arguments;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << bad.arguments;
  }
}

TEST(GrowCommand, SaysThatAPackedModelIsNoDirectory) {
  const TestFolder folder;
  const std::string pack = folder.path() + "/t.pack";
  ASSERT_EQ(
      RunProgram("pack --model " + GoldenFolder("llama") + " --out " + pack)
          .code,
      0);
  const Outcome outcome = RunProgram(
      "grow --model " + pack + " --like 110m --out " + folder.path() + "/new");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("expected a directory, found '" + pack +
                        "', which banyan pack wrote: grow the model that it "
                        "was packed from"));
}

}  // namespace
}  // namespace banyan
