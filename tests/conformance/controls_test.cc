// The proofs have teeth: every control is caught, by the function that proves
// the lossless methods, and what it breaks is right without it.
#include "experiments/controls/controls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "configs/loader/loader.h"
#include "core/base/params.h"
#include "experiments/law/exact_law.h"
#include "experiments/law/law_file.h"

namespace banyan {
namespace {

constexpr double kCaught = 1e-3;
constexpr double kRounding = 1e-12;

std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator("configs/law/controls"))
    files.push_back(entry.path().string());
  return files;
}

Params WithoutControl(const Params& file) {
  std::vector<Params::Entry> entries;
  for (const Params::Entry& entry : file.entries())
    if (entry.key != "control") entries.push_back(entry);
  return Params::Map(std::move(entries), file.origin());
}

absl::StatusOr<ExactLaw> Compute(const Params& file) {
  absl::StatusOr<LawFile> law = ReadLawFile(file);
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

TEST_P(EveryControl, IsRightOrRefusedWithoutItsMistake) {
  absl::StatusOr<Params> file = LoadYamlFile(GetParam());
  ASSERT_TRUE(file.ok()) << file.status();
  absl::StatusOr<ExactLaw> right = Compute(WithoutControl(*file));
  if (!right.ok()) {
    EXPECT_THAT(std::string(right.status().message()),
                testing::HasSubstr("does not go with"));
    return;
  }
  EXPECT_LE(right->max_abs_error, kRounding);
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
  EXPECT_GE(ControlCatalogue().size(), 14u);
  for (const ControlRow& row : ControlCatalogue())
    EXPECT_TRUE(used.contains(std::string(row.name))) << row.name;
}

}  // namespace
}  // namespace banyan
