// banyan text score, as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "core/ops/cpu/cpu_backend.h"
#include "nlohmann/json.hpp"
#include "tests/experiments/run_program.h"
#include "tests/support/made/golden_model.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string ScoreOn(const std::string& golden) {
  return "text score --model " + GoldenFolder(golden) + " ";
}

double LogProbability(const std::vector<double>& logits, std::size_t token) {
  double sum = 0;
  for (double logit : logits) sum += std::exp(logit);
  return logits[token] - std::log(sum);
}

// The golden logits were computed in float64, ours in float32, off by up to
// 150 * 2^-24 times the largest (tests/core/model), some 1e-4.
constexpr double kOff = 1e-3;

class TextScoreGolden : public testing::TestWithParam<std::string> {};

TEST_P(TextScoreGolden, GivesTheLogProbabilitiesOfAnotherImplementation) {
  const GoldenNumbers golden = ReadGolden(GetParam());
  const nlohmann::json json =
      RunForJson(ScoreOn(GetParam()) + "--weights f32 --logits --json --ids " +
                 absl::StrJoin(golden.ids, ","));
  ASSERT_FALSE(json.is_null());
  EXPECT_EQ(json.at("ids"), nlohmann::json(golden.ids));
  EXPECT_TRUE(json.at("tokens").is_null());
  EXPECT_EQ(json.at("weights"), "f32");
  const auto& given = json.at("log_probabilities");
  ASSERT_EQ(given.size(), golden.ids.size() - 1);
  double total = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto& logits = golden.logits64[i];
    const auto token = static_cast<std::size_t>(golden.ids[i + 1]);
    EXPECT_NEAR(given[i].get<double>(), LogProbability(logits, token), kOff)
        << i;
    total += given[i].get<double>();
    int rank = 1;
    for (double logit : logits) rank += logit > logits[token] ? 1 : 0;
    EXPECT_EQ(json.at("ranks")[i], rank) << i;
  }
  const auto count = static_cast<double>(given.size());
  EXPECT_NEAR(json.at("total").get<double>(), total, 1e-9);
  EXPECT_NEAR(json.at("mean").get<double>(), total / count, 1e-9);
  EXPECT_NEAR(json.at("perplexity").get<double>(), std::exp(-total / count),
              1e-9 * std::exp(-total / count));
  const auto& last = json.at("logits");
  ASSERT_EQ(last.size(), golden.logits64.back().size());
  for (std::size_t i = 0; i < last.size(); ++i)
    EXPECT_NEAR(last[i].get<double>(), golden.logits64.back()[i], kOff) << i;
}

INSTANTIATE_TEST_SUITE_P(Families, TextScoreGolden,
                         testing::ValuesIn(GoldenNames()),
                         [](const auto& row) { return row.param; });

TEST(TextScore, PrintsATableWithTotals) {
  const Outcome outcome = RunProgram(ScoreOn("llama") + "--ids 1,2,3 --logits");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("position"), HasSubstr("tokens scored     2"),
                    HasSubstr("mean log p"), HasSubstr("perplexity"),
                    HasSubstr("\n      10")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\n      11")));
  EXPECT_EQ(outcome.err, "");
}

TEST(TextScore, GivesTheLogitsAfterOneTokenThoughNothingIsScored) {
  const nlohmann::json json =
      RunForJson(ScoreOn("llama") + "--ids 1 --logits --json");
  ASSERT_FALSE(json.is_null());
  EXPECT_EQ(json.at("logits").size(), 83u);
  EXPECT_TRUE(json.at("log_probabilities").empty());
  EXPECT_EQ(json.at("total"), 0.0);
  EXPECT_TRUE(json.at("mean").is_null());
  EXPECT_TRUE(json.at("perplexity").is_null());
  const Outcome outcome = RunProgram(ScoreOn("llama") + "--ids 1 --logits");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("nothing to score"), HasSubstr("logit")));
}

TEST(TextScore, IsTheSameOnEveryInstructionSetAndThreadCount) {
  for (const std::string weights : {"bf16", "q8"}) {
    const std::string command = ScoreOn("llama") +
                                "--ids 1,2,3,4 --logits --json " +
                                "--weights " + weights + " ";
    // By order of sums.
    std::map<std::string, nlohmann::json> logits;
    const std::vector<std::string> sets = CpuBackend::InstructionSets();
    std::vector<std::string> settings = {"--threads 1 --instruction-set " +
                                         sets.front()};
    for (const std::string& set : sets)
      settings.push_back("--instruction-set " + set);
    for (const std::string& options : settings) {
      const bool tiles =
          weights == "bf16" && options.find("AMX") != std::string::npos;
      const nlohmann::json found = RunForJson(command + options).at("logits");
      const auto [same, first] =
          logits.emplace(tiles ? "tiles" : "lanes", found);
      EXPECT_EQ(same->second, found) << options;
    }
    // Processors of another kind have no tiles, made ones neither.
    const bool has_tiles = sets.back() == "AMX_EMULATED";
    EXPECT_EQ(logits.size(), has_tiles && weights == "bf16" ? 2u : 1u);
    const std::vector<double> lanes = logits.begin()->second;
    const std::vector<double> last = logits.rbegin()->second;
    for (std::size_t i = 0; i < lanes.size(); ++i)
      EXPECT_NEAR(lanes[i], last[i], 1e-3);
  }
}

// What 32-bit sums may move a logit of this size by; the goldens' own bound is
// tighter.
TEST(TextScore, RunsOnEveryDevice) {
  const std::string command =
      ScoreOn("llama") + "--ids 1,2,3,4 --logits --json ";
  const nlohmann::json cpu = RunForJson(command);
  const nlohmann::json reference = RunForJson(command + "--device reference");
  EXPECT_EQ(cpu.at("device"), "cpu");
  EXPECT_EQ(reference.at("device"), "reference");
  EXPECT_EQ(reference.at("backend"), "reference");
  const std::vector<double> a = cpu.at("logits");
  const std::vector<double> b = reference.at("logits");
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-3);
  EXPECT_NE(a, b) << "two backends that round alike are one";
}

TEST(TextScore, RefusesBadInput) {
  struct Case {
    std::string arguments;
    std::string reason;
  };
  const std::string llama = ScoreOn("llama");
  std::string long_ids = "1";
  for (int i = 0; i < 64; ++i) long_ids += ",1";
  for (const Case& bad : std::vector<Case>{
           {"text score --ids 1", "--model is required"},
           {"text score --model no_such_folder --ids 1",
            "there is no 'no_such_folder'; a model is a directory"},
           {"text score --model tests --ids 1", "tests/config.json"},
           {llama, "give either --text or --ids"},
           {llama + "--text a --ids 1", "not both"},
           {llama + "--text a", "the model has no tokenizer ("},
           {llama + "--ids ''", "found ''"},
           {llama + "--ids 1,,2", "found ''"},
           {llama + "--ids 1,b", "found 'b'"},
           {llama + "--ids 1,2.5", "found '2.5'"},
           {llama + "--ids 83", "from 0 to 82, the model's vocabulary, found"},
           {llama + "--ids -1", "found -1"},
           {llama + "--ids 99999999999", "found '99999999999'"},
           {llama + "--ids 1 --no-special", "--no-special goes with --text"},
           {llama + "--ids " + long_ids,
            "the text has 65 tokens, the context holds 64"},
           {llama + "--ids 1 --weights q5", "auto, f32, bf16, q8 or q4"},
           {llama + "--ids 1 --threads -1", "threads: expected 0 to"},
           {llama + "--ids 1 --instruction-set MMX", "found \"MMX\""},
           {llama + "--ids 1 --device cup", "did you mean 'cpu'?"},
           {llama + "--ids 1 --device reference --threads 2",
            "takes no number of them, found 2"},
           {llama + "--ids 1 --device reference --instruction-set SCALAR",
            "no choice of them, found \"SCALAR\""},
       }) {
    const Outcome outcome = RunProgram(bad.arguments);
    EXPECT_EQ(outcome.code, 2) << bad.arguments << "\n" << outcome.output;
    EXPECT_THAT(outcome.err, HasSubstr(bad.reason)) << bad.arguments;
    EXPECT_EQ(outcome.out, "") << bad.arguments;
  }
}

TEST(TextScore, SaysThatTheOutputCouldNotBeWritten) {
  const Outcome outcome = RunProgram(ScoreOn("llama") + "--ids 1,2 >/dev/full");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("could not be written"));
}

}  // namespace
}  // namespace banyan
