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
  EXPECT_THAT(files, testing::UnorderedElementsAre(
                         "pycode_draft_1.yaml", "pycode_draft_1_timed.yaml",
                         "pycode_draft_2.yaml", "pycode_eagle3.yaml",
                         "pycode_eagle3_timed.yaml", "pycode_medusa.yaml"));
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

}  // namespace
}  // namespace banyan
