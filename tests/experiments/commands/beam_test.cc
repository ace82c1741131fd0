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
                    HasSubstr("steps per pass 1.00")));
}

TEST(Beam, WithADrafterIsTheSameInFewerPasses) {
  const std::string plain = std::string(kShipped) + "--json";
  const Json alone = RunForJson(plain);
  const Json drafted = RunForJson(plain + " --gamma 3 " + kDrafter);
  EXPECT_EQ(drafted.at("beam"), alone.at("beam"));
  EXPECT_EQ(drafted.at("beam").size(), 4u);
  EXPECT_EQ(drafted.at("prompt_ids"), alone.at("prompt_ids"));
  EXPECT_EQ(drafted.at("steps"), 16);
  EXPECT_EQ(alone.at("passes"), 16);
  EXPECT_EQ(alone.at("draft_rows"), 0);
  const int passes = drafted.at("passes").get<int>();
  EXPECT_LT(passes, 16);
  EXPECT_LE(drafted.at("rows").get<int>(), passes * (4 + 8 * 3));
  EXPECT_GT(drafted.at("draft_rows"), 0);
}

TEST(Beam, OfWidthOneIsWhatGenerateSays) {
  const Json beam = RunForJson(std::string(kShipped) + "--width 1 --json");
  const Json greedy = RunForJson(
      "generate --model models/pycode-target --prompt 'def add(a, b):' "
      "--max-new-tokens 16 --temperature 0 --json");
  EXPECT_EQ(beam.at("beam").at(0).at("ids"), greedy.at("ids"));
  EXPECT_EQ(beam.at("beam").at(0).at("text"), greedy.at("text"));
  for (const char* same : {"prompt_ids", "stop_reason", "grown_from", "weights",
                           "device", "backend"})
    EXPECT_EQ(beam.at(same), greedy.at(same)) << same;
}

// Ids in, ids out, where there is no tokenizer; by length, values stand beside.
TEST(Beam, TakesIdsAndRanksByLength) {
  const std::string command = "beam --model " + GoldenFolder("llama") +
                              " --ids 1,5 --max-new-tokens 5 --ignore-eos";
  EXPECT_THAT(RunProgram(command + " --length-power 1").out,
              HasSubstr("log p         value  text"));
  const Json json = RunForJson(command + " --length-power 1 --json");
  const Json& first = json.at("beam").at(0);
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
         "a draft width from the width, 4, to 4096, found 2");
  expect(shipped + kDrafter + "--gamma 0",
         "expected a whole number, at least 1, found '0'");
  expect(shipped + kDrafter + "--gamma 2000",
         "a gamma from 1 to 512, for at most 4096 draft texts, found 2000");
  expect(shipped + "--length-power -1", "at least 0, found -1");
  expect(shipped + "--chat --prompt 'def sub(a, b):'",
         "--prompt: expected one text, also with --chat");
  expect(shipped + "--draft-width 9", "--draft-width goes with --drafter");
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
