// banyan measure, as a user meets it. What it measures is not judged here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kMeasure = "measure --model " + GoldenFolder("llama") + " ";

TEST(Measure, TimesEverySizeAtEveryContext) {
  const nlohmann::json json = RunForJson(
      kMeasure + "--batch 1,3 --context 0,7 --rounds 2 --weights q8 --json");
  ASSERT_EQ(json.at("timings").size(), 4);
  EXPECT_EQ(json.at("weights"), "q8");
  EXPECT_EQ(json.at("device"), "cpu");
  for (std::size_t i = 0; i < 4; ++i) {
    const nlohmann::json& timing = json.at("timings")[i];
    EXPECT_EQ(timing.at("context"), i < 2 ? 0 : 7);
    EXPECT_EQ(timing.at("tokens"), i % 2 == 0 ? 1 : 3);
    ASSERT_EQ(timing.at("passes").size(), 2);
    for (const nlohmann::json& pass : timing.at("passes")) {
      EXPECT_GT(pass.at("ms").get<double>(), 0);
      EXPECT_GT(pass.at("bytes_per_s").get<double>(), 0);
      EXPECT_GT(pass.at("operations_per_s").get<double>(), 0);
    }
    // The median of the paired ratios, from the facts beside it.
    double sum = 0;
    for (const nlohmann::json& pass : timing.at("passes"))
      sum += 1e3 * json.at("bytes").get<double>() /
             pass.at("bytes_per_s").get<double>() / pass.at("ms").get<double>();
    EXPECT_NEAR(timing.at("share_of_bandwidth").get<double>(), sum / 2, 1e-9);
  }
}

TEST(Measure, CountsWhatAPassReads) {
  const nlohmann::json f32 = RunForJson(
      kMeasure + "--batch 1 --context 4 --rounds 1 --weights f32 --json");
  const nlohmann::json bf16 = RunForJson(
      kMeasure + "--batch 1 --context 4 --rounds 1 --weights bf16 --json");
  EXPECT_EQ(f32.at("bytes").get<double>(), 2 * bf16.at("bytes").get<double>());
  EXPECT_EQ(f32.at("operations_per_token"), bf16.at("operations_per_token"));
  // Panels are filled up with zeros: at least 2 bytes an operation.
  EXPECT_GE(f32.at("bytes").get<double>(),
            2 * f32.at("operations_per_token").get<double>());
}

TEST(Measure, PrintsATableAndWritesThePassesThatAPolicyReads) {
  const std::string curve = WriteTestFile("", ".curve.yaml");
  const Outcome outcome = RunProgram(
      kMeasure + "--batch 8,2,4,1 --context 3,5 --rounds 1 --out " + curve);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("context 3"), HasSubstr("context 5"),
                                 HasSubstr("limit %")));
  std::ifstream file(curve);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(),
              AllOf(HasSubstr("    context: 3\n    ms: {1: "),
                    HasSubstr("    context: 5\n"), HasSubstr(", 8: "),
                    HasSubstr("machine: "), HasSubstr("date: ")));
  const std::string name = curve.substr(curve.rfind('/') + 1);
  const std::string policy = WriteTestFile(
      "policy: {name: sequoia, acceptance: [0.6, 0.2], nodes: 7,\n"
      "  draft_ms: 0.001, target_ms: !include " +
      name + "}\n");
  const Outcome tree = RunProgram("tree " + policy);
  EXPECT_EQ(tree.code, 0) << tree.err;
}

TEST(Measure, GivesTimesWithoutSharesWhereTheDeviceDoesNotKnowItsLimits) {
  const std::string command =
      kMeasure + "--device reference --batch 1,2 --context 3 --rounds 1";
  const nlohmann::json json = RunForJson(command + " --json");
  EXPECT_EQ(json.at("device"), "reference");
  ASSERT_EQ(json.at("timings").size(), 2);
  for (const nlohmann::json& timing : json.at("timings")) {
    EXPECT_GT(timing.at("median_ms").get<double>(), 0);
    EXPECT_TRUE(timing.at("share_of_bandwidth").is_null());
    EXPECT_TRUE(timing.at("share_of_limit").is_null());
    EXPECT_TRUE(timing.at("passes")[0].at("bytes_per_s").is_null());
    EXPECT_TRUE(timing.at("passes")[0].at("operations_per_s").is_null());
  }
  const Outcome outcome = RunProgram(command);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("does not know\nits limits"),
                                 HasSubstr(" - "),  // no share of nothing
                                 testing::Not(HasSubstr("inf"))));
}

TEST(Measure, RefusesWhatCannotBeMeasured) {
  const Outcome large = RunProgram(kMeasure + "--batch 100000");
  EXPECT_EQ(large.code, 2);
  EXPECT_THAT(large.err, HasSubstr("a batch of 100000 after a context of 128"));
  const Outcome none = RunProgram(kMeasure + "--batch 0");
  EXPECT_EQ(none.code, 2);
  const Outcome file =
      RunProgram(kMeasure + "--batch 1 --context 1 --out /no/such/curve.yaml");
  EXPECT_EQ(file.code, 2);
  EXPECT_THAT(file.err, HasSubstr("/no/such/curve.yaml: No such file"));
  const Outcome set = RunProgram(kMeasure + "--instruction-set Z80");
  EXPECT_EQ(set.code, 2);
  EXPECT_THAT(set.err, HasSubstr("found \"Z80\""));
}

}  // namespace
}  // namespace banyan
