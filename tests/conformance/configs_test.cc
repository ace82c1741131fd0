// The shipped configurations say what they promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "decode/method.h"
#include "experiments/proof/exact_law.h"
#include "tests/support/tally.h"

namespace banyan {
namespace {

// A file of configs/exact. Ends the program if it cannot be read.
ExactFile Read(const std::string& name) {
  absl::StatusOr<Params> params =
      LoadYamlFile("configs/exact/" + name + ".yaml");
  Check(params.ok(), params.status().message());
  absl::StatusOr<ExactFile> file = ReadExactFile(*params);
  Check(file.ok(), file.status().message());
  return *std::move(file);
}

ExactLaw Law(const std::string& name) {
  const ExactFile file = Read(name);
  absl::StatusOr<ExactLaw> law =
      ComputeExactLaw(*file.target, *file.decoder, file.options);
  Check(law.ok(), law.status().message());
  return *std::move(law);
}

double Tokens(const std::string& name) {
  return Law(name).expected_tokens_per_round;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("configs/exact"))
    if (entry.path().extension() == ".yaml")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class EveryConfig : public testing::TestWithParam<std::string> {};

// A lossy method and a control claim nothing.
TEST_P(EveryConfig, KeepsTheLawIfItIsLossless) {
  const ExactFile file = Read(GetParam());
  Tally tally;
  if (!file.control.empty() || !IsLossless(file.decoder->method())) {
    tally.LeaveOut("it claims nothing");
  } else {
    const ExactLaw law = Law(GetParam());
    EXPECT_LE(law.max_abs_error, 1e-12);
    tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, 0);
}

INSTANTIATE_TEST_SUITE_P(Law, EveryConfig, testing::ValuesIn(Names()),
                         [](const auto& row) { return row.param; });

TEST(Configs, ShowTheClassicResults) {
  EXPECT_GT(Tokens("chain_block"), Tokens("chain_leviathan") + 0.01);
  EXPECT_GT(Tokens("tree_traversal"), Tokens("tree_multi_round") + 0.01);
  EXPECT_GT(Tokens("tree_multi_round"), Tokens("chain_leviathan") + 0.01);
  EXPECT_GT(Tokens("cold_without_replacement"),
            Tokens("cold_multi_round") + 0.1);
  // 1 / M = .6 / .1 against the overlap of (.1, .3, .6) and (.7, .2, .1).
  EXPECT_NEAR(Law("chain_rejection").acceptance_per_depth[0], 1.0 / 6, 1e-12);
  EXPECT_NEAR(Law("chain_leviathan").acceptance_per_depth[0], 0.4, 1e-12);
}

// Random order is C's condition, and not needed; for one drafter it does not
// even change who is accepted.
TEST(Configs, ShowThatTheOrderOfDrawsIsFree) {
  EXPECT_LE(Law("two_drafters_shuffled").max_abs_error, 1e-12);
  EXPECT_LE(Law("two_drafters").max_abs_error, 1e-12);
  EXPECT_NEAR(Tokens("tree_shuffled"), Tokens("tree_multi_round"), 1e-12);
}

// The example of the field: p = (.1, .3, .6), q = (.7, .2, .1), two draws.
TEST(Configs, ShowTheBiasOfMergedDuplicates) {
  const ExactLaw merged = Law("duplicates_merged");
  double first[3] = {0, 0, 0};
  for (const auto& [text, probability] : merged.law)
    first[text[0]] += probability;
  EXPECT_THAT(first, testing::ElementsAre(testing::DoubleNear(0.10, 0.005),
                                          testing::DoubleNear(0.37, 0.005),
                                          testing::DoubleNear(0.53, 0.005)));
  EXPECT_LE(Law("duplicates_kept").max_abs_error, 1e-12);
}

TEST(Configs, ShowThatLossyMethodsMoveTheLaw) {
  EXPECT_GT(Law("typical").total_variation, 0.1);
  EXPECT_GT(Law("lenience").total_variation, 0.1);
  EXPECT_GT(Law("bild").total_variation, 0.1);
  EXPECT_GT(Law("top_beta").total_variation, 0.1);
  EXPECT_GT(Law("blockwise_top_k").total_variation, 0.1);
  EXPECT_GT(Law("blockwise_distance").total_variation, 0.1);
}

}  // namespace
}  // namespace banyan
