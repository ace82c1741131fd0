// The shipped configurations say what they promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "configs/loader/loader.h"
#include "core/base/params.h"
#include "decode/method.h"
#include "experiments/law/exact_law.h"
#include "experiments/law/law_file.h"

namespace banyan {
namespace {

// Computes a file of configs/law; ends the test if it cannot.
ExactLaw Law(const std::string& name) {
  absl::StatusOr<Params> params = LoadYamlFile("configs/law/" + name + ".yaml");
  EXPECT_TRUE(params.ok()) << params.status();
  absl::StatusOr<LawFile> file = ReadLawFile(*params);
  EXPECT_TRUE(file.ok()) << file.status();
  absl::StatusOr<ExactLaw> law =
      ComputeExactLaw(*file->target, *file->decoder, file->options);
  EXPECT_TRUE(law.ok()) << law.status();
  return *std::move(law);
}

double Tokens(const std::string& name) {
  return Law(name).expected_tokens_per_round;
}

TEST(Configs, EveryLosslessOneKeepsTheLaw) {
  int lossless = 0;
  for (const auto& entry : std::filesystem::directory_iterator("configs/law")) {
    if (entry.path().extension() != ".yaml") continue;
    absl::StatusOr<Params> params = LoadYamlFile(entry.path().string());
    ASSERT_TRUE(params.ok()) << params.status();
    absl::StatusOr<LawFile> file = ReadLawFile(*params);
    ASSERT_TRUE(file.ok()) << file.status();
    if (!file->control.empty() || !IsLossless(file->decoder->method()))
      continue;
    EXPECT_LE(Law(entry.path().stem().string()).max_abs_error, 1e-12)
        << entry.path();
    ++lossless;
  }
  EXPECT_GE(lossless, 8);
}

TEST(Configs, ShowTheClassicResults) {
  EXPECT_GT(Tokens("chain_block"), Tokens("chain_leviathan") + 0.01);
  EXPECT_GT(Tokens("tree_traversal"), Tokens("tree_multi_round") + 0.01);
  EXPECT_GT(Tokens("tree_multi_round"), Tokens("chain_leviathan") + 0.01);
  EXPECT_GT(Tokens("cold_without_replacement"),
            Tokens("cold_multi_round") + 0.1);
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
}

}  // namespace
}  // namespace banyan
