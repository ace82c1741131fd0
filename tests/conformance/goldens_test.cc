// Compares exact output distributions with those of a reference implementation
// in exact rationals, tests/goldens/law_oracle.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/proof/exact_law.h"
#include "nlohmann/json.hpp"
#include "tests/support/tally.h"

namespace banyan {
namespace {

constexpr double kTolerance = 1e-9;

std::vector<std::string> GoldenNames() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/goldens/law"))
    if (entry.path().extension() == ".json")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

void ExpectGolden(const nlohmann::json& golden, Tally& tally) {
  absl::StatusOr<Params> params =
      ParseYaml(golden.at("yaml").get<std::string>(), "golden");
  ASSERT_TRUE(params.ok()) << params.status();
  absl::StatusOr<ExactFile> file = ReadExactFile(*params);
  ASSERT_TRUE(file.ok()) << file.status();
  absl::StatusOr<ExactLaw> law =
      ComputeExactLaw(*file->target, *file->decoder, file->options);
  ASSERT_TRUE(law.ok()) << law.status();

  EXPECT_NEAR(law->expected_tokens_per_round,
              golden.at("expected_tokens_per_round").get<double>(), kTolerance);
  EXPECT_THAT(
      law->acceptance_per_depth,
      testing::Pointwise(
          testing::DoubleNear(kTolerance),
          golden.at("acceptance_per_depth").get<std::vector<double>>()));
  const nlohmann::json& strings = golden.at("law");
  EXPECT_EQ(law->law.size(), strings.size());
  for (const auto& [text, probability] : law->law) {
    const std::string key = absl::StrJoin(text, ",");
    ASSERT_TRUE(strings.contains(key)) << key;
    EXPECT_NEAR(probability, strings.at(key).get<double>(), kTolerance) << key;
  }
  tally.Count(CaseResult::kProven);
}

class EveryGolden : public testing::TestWithParam<std::string> {};

TEST_P(EveryGolden, AgreesWithTheSecondImplementation) {
  std::ifstream stream("tests/goldens/law/" + GetParam() + ".json");
  const nlohmann::json golden =
      nlohmann::json::parse(stream, /*cb=*/nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(golden.is_object());
  Tally tally;
  ExpectGolden(golden, tally);
  ExpectCounts(tally, 1);
}

INSTANTIATE_TEST_SUITE_P(Law, EveryGolden, testing::ValuesIn(GoldenNames()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace banyan
