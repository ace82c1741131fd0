// The calibrations that ship are what their command gives on this machine too:
// tokens and draws are the same everywhere, so the counts must be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "configs/loader/loader.h"
#include "core/base/params.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"

namespace banyan {
namespace {

Params Load(const std::string& path) {
  auto file = LoadYamlFile(path);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *std::move(file) : Params();
}

std::vector<std::vector<double>> Table(const Params* value) {
  std::vector<std::vector<double>> table;
  EXPECT_NE(value, nullptr);
  if (value != nullptr) {
    EXPECT_TRUE(Convert(*value, table).ok());
  }
  return table;
}

TEST(Calibrations, AreTheFilesRerunBelow) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator("configs/calibrations"))
    files.push_back(entry.path().filename().string());
  // SmolLM2 has to be downloaded: its files are not rerun.
  EXPECT_THAT(files, testing::UnorderedElementsAre(
                         "pycode_draft_1.yaml", "pycode_draft_1_timed.yaml",
                         "pycode_draft_2.yaml", "pycode_eagle3.yaml",
                         "pycode_eagle3_timed.yaml", "pycode_medusa.yaml",
                         "smollm2_draft_1.yaml", "smollm2_draft_1_greedy.yaml",
                         "smollm2_medusa.yaml"));
}

// Reruns the command of a shipped file.
Params Rerun(const std::string& method) {
  const std::string path = WriteTestFile("", ".yaml");
  const Outcome outcome = RunProgram(absl::StrCat(
      "calibrate --model models/pycode-target --method configs/methods/",
      method,
      ".yaml --workload experiments/workloads/pycode.jsonl --max-new-tokens "
      "128 "
      "--temperature 1 --out ",
      path));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return Load(path);
}

void ExpectSameCounts(const Params& again, const Params& shipped) {
  for (const char* key : {"nodes", "tokens"})
    EXPECT_EQ(again.Find(key)->text(), shipped.Find(key)->text()) << key;
  std::vector<double> ours;
  std::vector<double> theirs;
  ASSERT_TRUE(Convert(*again.Find("accepted"), ours).ok());
  ASSERT_TRUE(Convert(*shipped.Find("accepted"), theirs).ok());
  EXPECT_EQ(ours, theirs);
  EXPECT_GT(ours.size(), 3U);
}

TEST(Calibrations, OfTheDrafterAreThoseOfARerun) {
  const Params again = Rerun("sequoia");
  ExpectSameCounts(again, Load("configs/calibrations/pycode_draft_1.yaml"));
  ExpectSameCounts(again,
                   Load("configs/calibrations/pycode_draft_1_timed.yaml"));
}

TEST(Calibrations, OfTheSecondDrafterAreThoseOfARerun) {
  ExpectSameCounts(Rerun("sequoia_boosted"),
                   Load("configs/calibrations/pycode_draft_2.yaml"));
}

TEST(Calibrations, OfTheNetworkAreThoseOfARerun) {
  const Params again = Rerun("eagle_sequoia");
  ExpectSameCounts(again, Load("configs/calibrations/pycode_eagle3.yaml"));
  ExpectSameCounts(again,
                   Load("configs/calibrations/pycode_eagle3_timed.yaml"));
}

TEST(Calibrations, OfTheHeadsAreThoseOfARerun) {
  const Params again = Rerun("medusa");
  const Params shipped = Load("configs/calibrations/pycode_medusa.yaml");
  ExpectSameCounts(again, shipped);
  EXPECT_EQ(Table(again.Find("hits")), Table(shipped.Find("hits")));
  EXPECT_EQ(Table(shipped.Find("accuracies")).size(), 4U);
}

// As the same prompts in the tokens that `generate --chat` gives them.
TEST(Calibrations, WriteAPromptAsAChat) {
  const std::string model = " --model tests/goldens/gguf/types.gguf ";
  const std::string prompt = "Why is the sky blue?";
  const Outcome generated = RunProgram(
      absl::StrCat("generate", model, "--temperature 0 --max-new-tokens 1 ",
                   "--chat --json --prompt '", prompt, "'"));
  ASSERT_EQ(generated.code, 0) << generated.err;
  const nlohmann::json ids = nlohmann::json::parse(generated.out)["prompt_ids"];
  const auto calibrate = [&](const nlohmann::json& line,
                             const std::string& options) {
    const std::string out = WriteTestFile("", ".yaml");
    const Outcome outcome = RunProgram(absl::StrCat(
        "calibrate", model,
        "--method configs/methods/recycling.yaml --temperature 1 --workload ",
        WriteTestFile(line.dump(), ".jsonl"), " --out ", out, options));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Load(out);
  };
  const nlohmann::json text = {{"id", "a"}, {"kind", "b"}, {"prompt", prompt}};
  const nlohmann::json same = {{"id", "a"}, {"kind", "b"}, {"ids", ids}};
  const Params chat = calibrate(text, " --chat");
  const Params tokens = calibrate(same, "");
  ExpectSameCounts(chat, tokens);
  EXPECT_THAT(
      RunProgram(absl::StrCat("calibrate", model, "--chat --workload ",
                              WriteTestFile(same.dump(), ".jsonl"),
                              " --method configs/methods/recycling.yaml --out ",
                              WriteTestFile("", ".yaml")))
          .err,
      testing::HasSubstr("token ids cannot be written as a chat"));
}

}  // namespace
}  // namespace banyan
