// banyan compare, as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"
#include "tests/experiments/test_files.h"
#include "tests/support/made/made_records.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class CompareTest : public FolderTest {
 protected:
  static std::string Path(const std::string& name) {
    return OwnFolder() + "/" + name + ".banyan";
  }
  static std::string Command(const std::string& options = "") {
    return "compare " + Path("a") + " " + Path("b") + " " + options;
  }
};

TEST_F(CompareTest, TellsFasterFromSlowerFromTheSame) {
  WriteMadeRecords(Path("a"), {});
  WriteMadeRecords(Path("b"), {.slower = 2});
  const nlohmann::json json = RunForJson(Command("--json"));
  ASSERT_EQ(json.at("cells").size(), 5);
  EXPECT_EQ(json.at("differences"), nlohmann::json::array());
  const nlohmann::json& plain = json.at("cells")[0];
  EXPECT_EQ(plain.at("name"), "plain");
  EXPECT_EQ(plain.at("verdict"), "baseline");
  EXPECT_EQ(plain.at("speed"), nullptr);
  EXPECT_EQ(plain.at("ms_per_token").at("difference"), 0);
  const nlohmann::json& chain = json.at("cells")[1];
  EXPECT_EQ(chain.at("prompts"), 6);
  EXPECT_EQ(chain.at("verdict"), "slower");
  const nlohmann::json& ms = chain.at("ms_per_token");
  // Times are cut to nanoseconds after they were doubled.
  EXPECT_NEAR(ms.at("b").get<double>(), 2 * ms.at("a").get<double>(), 1e-5);
  EXPECT_NEAR(ms.at("difference").get<double>(), ms.at("a").get<double>(),
              1e-5);
  EXPECT_GT(ms.at("low").get<double>(), 0);
  const nlohmann::json& speed = chain.at("speed");
  EXPECT_NEAR(2 * speed.at("b").get<double>(), speed.at("a").get<double>(),
              1e-5);
  EXPECT_LT(speed.at("high").get<double>(), 0);
  EXPECT_EQ(chain.at("tokens_per_pass").at("difference"), 0);
  const Outcome back = RunProgram("compare " + Path("b") + " " + Path("a"));
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_THAT(back.out, AllOf(ContainsRegex("chain +faster +6"),
                              ContainsRegex("plain +baseline +6")));
}

// Every time of b is longer by a half, plain decoding's too.
TEST_F(CompareTest, TellsASlowerMachineFromASlowerMethod) {
  WriteMadeRecords(Path("a"), {});
  WriteMadeRecords(Path("b"), {.slower = 1.5, .slower_machine = 1.5});
  const nlohmann::json json = RunForJson(Command("--json"));
  for (const nlohmann::json& cell : json.at("cells")) {
    if (cell.at("verdict") == "baseline") continue;
    EXPECT_NEAR(cell.at("speed").at("difference").get<double>(), 0, 1e-5);
  }
  ASSERT_EQ(json.at("baselines").size(), 2);
  const nlohmann::json& drift = json.at("baselines")[0];
  EXPECT_EQ(drift.at("name"), "plain");
  EXPECT_NEAR(drift.at("slower").get<double>(), 1.5, 1e-4);
  EXPECT_NEAR(drift.at("low").get<double>(), 1.5, 1e-4);
  EXPECT_THAT(RunProgram(Command()).out,
              HasSubstr("plain: 1.500 [1.500, 1.500] times the time per token "
                        "in b, so b is slower."));
}

TEST_F(CompareTest, CannotTellMachineFromMethodWithoutPlainDecoding) {
  records::Context context = MadeContext({});
  for (const char* name : {"a", "b"}) {
    const auto writer = RecordWriter::Create(Path(name), context);
    for (int prompt = 0; prompt < 6; ++prompt)
      ASSERT_TRUE((*writer)->Append(MadePrompt({}, 1, prompt)).ok());
  }
  const Outcome outcome = RunProgram(Command("--cell chain"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(absl::StrReplaceAll(outcome.out, {{"\n", " "}}),
              AllOf(ContainsRegex("chain +machine or method +6"),
                    HasSubstr("a slower machine cannot be told from a slower "
                              "method")));
}

TEST_F(CompareTest, PairsPromptsDecodedTogetherWithThoseAlone) {
  WriteMadeRecords(Path("a"), {});
  WriteMadeRecords(Path("b"), {.batches = true});
  const nlohmann::json json = RunForJson(Command("--cell merged --json"));
  const nlohmann::json& merged = json.at("cells")[0];
  EXPECT_EQ(merged.at("prompts"), 6);
  // Shared rounds cost each prompt a part.
  EXPECT_GT(merged.at("speed").at("difference").get<double>(), 0);
  EXPECT_EQ(RunProgram(Command()).code, 0);
}

TEST_F(CompareTest, IsUndecidedWhereTheIntervalHoldsZero) {
  WriteMadeRecords(Path("a"), {});
  // Other times of one distribution.
  WriteMadeRecords(Path("b"), {.seed = 2});
  const nlohmann::json json = RunForJson(Command("--cell chain --json"));
  const nlohmann::json& chain = json.at("cells")[0];
  EXPECT_LT(chain.at("speed").at("low").get<double>(), 0);
  EXPECT_GT(chain.at("speed").at("high").get<double>(), 0);
  EXPECT_EQ(chain.at("verdict"), "undecided");
}

TEST_F(CompareTest, PairsThePromptsThatBothHave) {
  WriteMadeRecords(Path("a"), {.gaps = true});
  WriteMadeRecords(Path("b"), {});
  const Outcome outcome = RunProgram(Command("--json"));
  EXPECT_THAT(outcome.err, HasSubstr("5 of 6 prompts"));
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("cells")[0].at("prompts"), 5);
  EXPECT_EQ(json.at("cells")[0].at("ms_per_token").at("difference"), 0);
  EXPECT_EQ(json.at("cells")[1].at("prompts"), 6);
  EXPECT_EQ(json.at("cells")[1].at("speed").at("difference"), 0);
}

TEST_F(CompareTest, TakesOneCellIfTold) {
  WriteMadeRecords(Path("a"), {});
  WriteMadeRecords(Path("b"), {});
  const nlohmann::json json = RunForJson(Command("--cell merged --json"));
  ASSERT_EQ(json.at("cells").size(), 1);
  EXPECT_EQ(json.at("cells")[0].at("name"), "merged");
  const Outcome wrong = RunProgram(Command("--cell mergd"));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'merged'?"));
}

TEST_F(CompareTest, RefusesUnlikeWorkloadsAndMachinesUnlessMixed) {
  WriteMadeRecords(Path("a"), {});
  records::Context context = MadeContext({});
  context.mutable_workload()->set_hash("0000");
  WriteMadeRecords(Path("b"), {}, context);
  const Outcome workload = RunProgram(Command());
  EXPECT_EQ(workload.code, 2);
  EXPECT_THAT(workload.err,
              AllOf(HasSubstr("different workloads (ffee and 0000)"),
                    HasSubstr("--mixed")));
  context = MadeContext({});
  context.mutable_machine()->set_instruction_set("AVX3");
  WriteMadeRecords(Path("b"), {}, context);
  EXPECT_THAT(RunProgram(Command()).err,
              HasSubstr("different instruction sets (AVX2 and AVX3)"));
  context.mutable_machine()->set_sums("tiles");
  WriteMadeRecords(Path("b"), {}, context);
  EXPECT_THAT(RunProgram(Command()).err,
              HasSubstr("different orders of sums (lanes and tiles)"));
  context.mutable_machine()->set_device("reference");
  WriteMadeRecords(Path("b"), {}, context);
  EXPECT_THAT(RunProgram(Command()).err,
              HasSubstr("different devices (cpu and reference)"));
  const Outcome mixed = RunProgram(Command("--mixed"));
  EXPECT_EQ(mixed.code, 0) << mixed.err;
  EXPECT_THAT(mixed.out, AllOf(HasSubstr("Differs: device: cpu | reference"),
                               HasSubstr("instruction set: AVX2 | AVX3"),
                               HasSubstr("order of sums: lanes | tiles")));
}

TEST_F(CompareTest, TellsGpusAndWhatWasMadeFast) {
  WriteMadeRecords(Path("a"), {});
  records::Context context = MadeContext({});
  records::Machine& machine = *context.mutable_machine();
  machine.set_device("cuda");
  machine.set_fast(true);
  machine.mutable_gpu()->set_name("NVIDIA H200");
  WriteMadeRecords(Path("b"), {}, context);
  EXPECT_THAT(RunProgram(Command()).err,
              HasSubstr("different devices (cpu and cuda, fast)"));
  const Outcome mixed = RunProgram(Command("--mixed"));
  EXPECT_EQ(mixed.code, 0) << mixed.err;
  EXPECT_THAT(mixed.out, HasSubstr(" | NVIDIA H200 ("));
  EXPECT_THAT(mixed.err, HasSubstr("b.banyan: was made with --fast"));
}

TEST_F(CompareTest, SaysWhatElseDiffers) {
  WriteMadeRecords(Path("a"), {});
  records::Context context = MadeContext({});
  context.mutable_build()->set_compiler("another");
  context.mutable_machine()->set_bytes_per_s(1.05e10);  // within its noise
  context.mutable_cells(1)->set_seed(8);
  context.set_experiment("made: up\nlimits:\n  ignore_eos: true\n");
  WriteMadeRecords(Path("b"), {}, context);
  const nlohmann::json json = RunForJson(Command("--json"));
  EXPECT_EQ(json.at("differences"),
            nlohmann::json::array({"compiler: made up | another",
                                   "only in b's experiment: limits:",
                                   "only in b's experiment: ignore_eos: true",
                                   "cell chain, seed: 7 | 8"}));
}

TEST_F(CompareTest, SaysWhichTokensWereDrafted) {
  const auto context = [](const std::string& file) {
    records::Context made = MadeContext({});
    records::DraftedTokens& drafted =
        *made.mutable_cells(1)->mutable_trunks(0)->add_drafted();
    drafted.set_model("draft");
    drafted.set_file(file);
    return made;
  };
  const auto differences = [&] {
    return RunForJson(Command("--json")).at("differences");
  };
  WriteMadeRecords(Path("a"), {}, context("d/vocabulary.json"));
  WriteMadeRecords(Path("b"), {}, context(""));
  EXPECT_EQ(differences(),
            nlohmann::json::array({"cell chain, draft vocabularies: draft "
                                   "d/vocabulary.json | draft all tokens"}));
  // An older record does not say.
  WriteMadeRecords(Path("b"), {});
  EXPECT_EQ(differences(), nlohmann::json::array());
}

TEST_F(CompareTest, RefusesRunsWithoutACommonCell) {
  WriteMadeRecords(Path("a"), {});
  records::Context context = MadeContext({});
  for (records::Cell& cell : *context.mutable_cells())
    cell.set_name("other " + cell.name());
  WriteMadeRecords(Path("b"), {}, context);
  const Outcome outcome = RunProgram(Command());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("have no cell of one name"));
}

TEST_F(CompareTest, RefusesARunWithoutAnyCell) {
  ASSERT_TRUE(RecordWriter::Create(Path("a"), {}).ok());
  ASSERT_TRUE(RecordWriter::Create(Path("b"), {}).ok());
  const Outcome outcome = RunProgram(Command());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(Path("a") + " and " + Path("b") +
                                     ": have no cell of one name"));
}

TEST_F(CompareTest, DoesNotJudgeByFewPrompts) {
  WriteMadeRecords(Path("a"), {.prompts = 1});
  WriteMadeRecords(Path("b"), {.prompts = 1, .slower = 3});
  EXPECT_THAT(RunProgram(Command()).out, ContainsRegex("chain +undecided +1 "));
}

}  // namespace
}  // namespace banyan
