// Every control is caught by the function that proves the lossless methods. The
// method that a control breaks is right or incompatible without the control.
#include "experiments/proof/controls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/proof/exact_law.h"
#include "tests/conformance/pairing.h"
#include "tests/support/tally.h"

namespace banyan {
namespace {

std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator("configs/exact/controls"))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

Params Without(absl::string_view key, const Params& file) {
  std::vector<Params::Entry> entries;
  for (const Params::Entry& entry : file.entries())
    if (entry.key != key) entries.push_back(entry);
  return Params::Map(std::move(entries), file.origin());
}

absl::StatusOr<ExactLaw> Compute(const Params& file) {
  absl::StatusOr<ExactFile> law = ReadExactFile(file);
  if (!law.ok()) return law.status();
  return ComputeExactLaw(*law->target, *law->decoder, law->options);
}

class EveryControl : public testing::TestWithParam<std::string> {};

TEST_P(EveryControl, IsCaught) {
  absl::StatusOr<Params> file = LoadYamlFile(GetParam());
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_NE(file->Find("control"), nullptr);
  absl::StatusOr<ExactLaw> broken = Compute(*file);
  ASSERT_TRUE(broken.ok()) << broken.status();
  std::cout << "  " << file->Find("control")->text() << ": largest error "
            << broken->max_abs_error << ", total variation "
            << broken->total_variation << ", " << broken->branches
            << " leaves\n";
  EXPECT_GT(broken->max_abs_error, kCaught);
}

// Which of the two stands in the counts, for each file.
TEST_P(EveryControl, IsRightOrUnlawfulWithoutItsMistake) {
  absl::StatusOr<Params> file = LoadYamlFile(GetParam());
  ASSERT_TRUE(file.ok()) << file.status();
  absl::StatusOr<ExactLaw> right = Compute(Without("control", *file));
  Tally tally;
  if (IsRefusal(right.status())) {
    tally.Count(CaseResult::kUnlawful);
  } else {
    ASSERT_TRUE(right.ok()) << right.status();
    EXPECT_LE(right->max_abs_error, kRounding);
    tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, 0);
}

std::string TestName(const testing::TestParamInfo<std::string>& file) {
  return std::filesystem::path(file.param).stem().string();
}

INSTANTIATE_TEST_SUITE_P(Configs, EveryControl, testing::ValuesIn(Files()),
                         TestName);

TEST(Controls, AllHaveAFileThatCatchesThem) {
  std::set<std::string> used;
  for (const std::string& path : Files()) {
    absl::StatusOr<Params> file = LoadYamlFile(path);
    ASSERT_TRUE(file.ok()) << file.status();
    used.insert(file->Find("control")->text());
  }
  std::set<std::string> known;
  for (const ControlRow& row : ControlCatalogue()) known.emplace(row.name);
  EXPECT_EQ(used, known);
}

// What the published sampler gets wrong does not show where it is mostly tried.
TEST(Controls, AnUntemperedBonusIsRightAtTemperatureOne) {
  absl::StatusOr<Params> file =
      LoadYamlFile("configs/exact/controls/bonus_untempered.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  absl::StatusOr<ExactLaw> plain = Compute(Without("sampling", *file));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_LE(plain->max_abs_error, kRounding);
}

}  // namespace
}  // namespace banyan
