// banyan beam, as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"
#include "tests/experiments/test_files.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

using Json = nlohmann::json;

constexpr char kShipped[] =
    "beam --model models/pycode-target --prompt 'def add(a, b):' "
    "--max-new-tokens 16 ";
constexpr char kDrafter[] = "--drafter models/pycode-draft-2 ";

TEST(Beam, PrintsItsTextsAndWhatTheyCost) {
  const Outcome outcome = RunProgram(std::string(kShipped) + "--width 3");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("place  tokens         log p  text"),
                    HasSubstr("\n    3      ")));
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("beam search of width 3: target passes 16, "),
                    HasSubstr("steps a pass 1.00")));
}

TEST(Beam, WithADrafterIsTheSameInFewerPasses) {
  const std::string plain = std::string(kShipped) + "--json";
  const Json alone = RunForJson(plain);
  const Json drafted = RunForJson(plain + " --check --gamma 3 " + kDrafter);
  ASSERT_EQ(drafted.at("prompts").size(), 1u);
  const Json& prompt = drafted.at("prompts").at(0);
  EXPECT_EQ(prompt.at("beam"), alone.at("prompts").at(0).at("beam"));
  EXPECT_EQ(prompt.at("prompt_ids"),
            alone.at("prompts").at(0).at("prompt_ids"));
  EXPECT_EQ(prompt.at("beam").size(), 4u);
  EXPECT_EQ(drafted.at("draft_width"), 8);
  EXPECT_EQ(drafted.at("gamma"), 3);
  EXPECT_EQ(drafted.at("steps"), 16);
  EXPECT_LT(drafted.at("passes"), 16);
  EXPECT_EQ(drafted.at("plain").at("same"), true);
  EXPECT_EQ(drafted.at("plain").at("passes"), 16);
  EXPECT_EQ(drafted.at("plain").at("rows"), alone.at("rows"));
  EXPECT_TRUE(alone.at("plain").is_null());
  EXPECT_TRUE(alone.at("drafter").is_null());
  EXPECT_TRUE(alone.at("gamma").is_null());
  int rows = 0;
  int steps = 0;
  for (const Json& pass : prompt.at("passes")) {
    EXPECT_LE(pass.at("rows"), 4 + 8 * 3);
    rows += pass.at("rows").get<int>();
    steps += pass.at("steps").get<int>();
  }
  EXPECT_EQ(rows, drafted.at("rows"));
  EXPECT_EQ(steps, drafted.at("steps"));
  const Outcome told =
      RunProgram(std::string(kShipped) + "--check " + kDrafter);
  EXPECT_THAT(told.err, HasSubstr("plain search finds the same to the last "
                                  "bit, in 16 passes"));
}

TEST(Beam, OfWidthOneIsWhatGenerateSays) {
  const Json beam = RunForJson(std::string(kShipped) + "--width 1 --json");
  const Json greedy = RunForJson(
      "generate --model models/pycode-target --prompt 'def add(a, b):' "
      "--max-new-tokens 16 --temperature 0 --json");
  const Json& found = beam.at("prompts").at(0);
  EXPECT_EQ(found.at("beam").at(0).at("ids"), greedy.at("ids"));
  EXPECT_EQ(found.at("beam").at(0).at("text"), greedy.at("text"));
  EXPECT_EQ(found.at("stop_reason"), greedy.at("stop_reason"));
}

TEST(Beam, TakesAWorkload) {
  const std::string command =
      "beam --model models/pycode-target --width 2 --max-new-tokens 4 "
      "--workload experiments/workloads/pycode.jsonl --prompts 3 ";
  const Json json = RunForJson(command + "--json");
  ASSERT_EQ(json.at("prompts").size(), 3u);
  EXPECT_EQ(json.at("prompts").at(0).at("prompt"), 0);
  EXPECT_EQ(json.at("passes"), 12);
  EXPECT_THAT(RunProgram(command).out, HasSubstr("prompt 0\nplace"));
}

// Ids in, ids out, where there is no tokenizer; by length, values stand beside.
TEST(Beam, TakesIdsAndRanksByLength) {
  const std::string command = "beam --model " + GoldenFolder("llama") +
                              " --ids 1,5 --max-new-tokens 5 --ignore-eos";
  EXPECT_THAT(RunProgram(command + " --length-power 1").out,
              HasSubstr("log p         value  text"));
  const Json json = RunForJson(command + " --length-power 1 --json");
  const Json& first = json.at("prompts").at(0).at("beam").at(0);
  EXPECT_TRUE(first.at("text").is_null());
  EXPECT_EQ(first.at("ids").size(), 5u);
  EXPECT_DOUBLE_EQ(first.at("value"),
                   first.at("log_probability").get<double>() / 5);
}

TEST(Beam, RefusesWhatMakesNoSense) {
  const auto expect = [](const std::string& arguments,
                         const std::string& reason) {
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_THAT(outcome.err, HasSubstr(reason));
    EXPECT_EQ(outcome.out, "");
  };
  const std::string shipped = kShipped;
  expect(shipped + "--width 0",
         "expected a whole number, at least 1, found '0'");
  expect(shipped + kDrafter + "--width 4 --draft-width 2",
         "a draft beam at least as wide as the beam, 4, found 2");
  expect(shipped + kDrafter + "--gamma 0",
         "expected a whole number, at least 1, found '0'");
  expect(shipped + kDrafter + "--gamma 2000", "more than 4096 texts a pass");
  expect(shipped + "--check", "--check holds a search with --drafter");
  expect(shipped + "--length-power -1", "at least 0, found -1");
  expect(shipped + "--workload experiments/workloads/pycode.jsonl",
         "give either --workload or a prompt, not both");
  expect(shipped + "--draft-width 9", "--draft-width goes with --drafter");
  expect(shipped + "--prompts 9", "--prompts goes with --workload");
  expect(
      "beam --model models/pycode-target --chat chatml --workload "
      "experiments/workloads/pycode.jsonl",
      "--no-special, --chat and --system go with --prompt");
  expect("beam --model models/pycode-target", "give either --prompt or --ids");
  expect(shipped + "--drafter no/such/folder", "no/such/folder");
  // Of another size; of the same, with other tokens.
  expect("beam --model models/pycode-target --ids 1,5 --drafter " +
             GoldenFolder("llama"),
         "the draft model's vocabulary has ");
}

class BeamDrafter : public FolderTest {};

// Tokens are handed over by number.
TEST_F(BeamDrafter, MustHaveTheTargetsTokens) {
  std::filesystem::remove_all(OwnFolder());
  std::filesystem::copy("models/pycode-draft-2", OwnFolder());
  const std::string path = OwnFolder() + "/tokenizer.json";
  Json json = Json::parse(FileText(path));
  json.at("model").at("vocab").at("a").swap(
      json.at("model").at("vocab").at("b"));
  WriteText(path, json.dump());
  const Outcome outcome =
      RunProgram(std::string(kShipped) + "--drafter " + OwnFolder());
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.err,
              HasSubstr("token 65 is 'b' here and 'a' in the target's"));
}

}  // namespace
}  // namespace banyan
