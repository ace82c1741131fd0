// The keys of the policies: every value up to its edge, and none beyond.
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "configs/loader/loader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tree/policies/catalogue.h"

namespace banyan {
namespace {

using ::testing::ElementsAre;

absl::Status Build(const std::string& spec) {
  return BuildPolicy(ParseYaml(Section(spec), spec).value()).status();
}

std::vector<int> ParentsOf(const std::string& spec) {
  return PlanShape(ParseYaml(Section(spec), spec).value())->shape.parents;
}

// `auto` with one key more.
std::string Auto(const std::string& key) {
  return "auto {acceptance: [0.5], budget: 2, draft_ms: 0, target_ms: "
         "{1: 1, 3: 2}, " +
         key + "}";
}

TEST(PolicyKeys, HoldUpToTheirEdges) {
  for (const std::string& spec :
       {std::string("chain {gamma: 0}"), std::string("chain {gamma: 4096}"),
        std::string("sequences {count: 1, gamma: 0}"),
        std::string("sequences {count: 64, gamma: 64}"),
        std::string("best_first {budget: 4096}"),
        std::string("best_first {budget: 0, max_depth: 0, min_value: 0}"),
        std::string("best_first {budget: 1, max_depth: 1, min_value: 1}"),
        std::string("expand_rerank {top_k: 1, depth: 0, total: 0}"),
        std::string("adaptive_chain {gamma: 1, threshold: 0}"),
        std::string("adaptive_chain {gamma: 1, threshold: 1}"),
        std::string("adaptive_chain {gamma: 1, on_low: keep_and_stop}"),
        std::string("adaptive_chain {gamma: 1, on_low: drop}"),
        std::string("adaptive_chain {gamma: 1, on_low: stop_before}"),
        std::string("adaptive_chain {gamma: 1, adjust: true, max_gamma: 1}"),
        std::string("adaptive_chain {gamma: 1, goal: 0.001, step: 1}"),
        std::string("adaptive_chain {gamma: 1, goal: 0.999, step: 0.001}"),
        Auto("memory: 1"), Auto("trial: 1")})
    EXPECT_EQ(Build(spec), absl::OkStatus()) << spec;
}

TEST(PolicyKeys, BeyondTheirEdgesAreRefusedByName) {
  const struct {
    std::string spec;
    const char* named;
  } kCases[] = {
      {"chain {gamma: -1}", "gamma"},
      {"chain {gamma: 4097}", "'gamma' makes up to 4097 draws a round"},
      {"sequences {count: 1000000, gamma: 4}", "'count' makes up to 4e+06"},
      {"sequences {count: 2147483647, gamma: 2147483647}", "more than 4096"},
      {"best_first {budget: 1000000000}", "'budget' makes up to 1e+09"},
      {"expand_rerank {top_k: 10, depth: 100, total: 60}",
       "'depth' makes up to 9910"},
      {"expand_rerank {top_k: 1000000, depth: 1, total: 60}", "more than 4096"},
      {"adaptive_chain {gamma: 5000}", "'gamma' makes up to 5000"},
      {"adaptive_chain {gamma: 1, adjust: true, max_gamma: 5000}",
       "'max_gamma' makes up to 5000"},
      {"expansion {branching: [64, 64]}", "makes up to 4160 draws a round"},
      {"sequoia {acceptance: [0.9, 0.05], budget: 5000}",
       "'budget' makes up to 5000 draws a round"},
      {"auto {acceptance: [0.9, 0.05], budget: 1025, draft_ms: 0, target_ms: "
       "{1: 1, 1026: 1}}",
       "'budget' must be at most 1024"},
      {"sequences {count: 0, gamma: 1}", "count"},
      {"sequences {count: 1, gamma: -1}", "gamma"},
      {"best_first {budget: -1}", "budget"},
      {"best_first {budget: 1, max_depth: -1}", "max_depth"},
      {"best_first {budget: 1, min_value: -0.001}", "min_value"},
      {"best_first {budget: 1, min_value: 1.001}", "min_value"},
      {"expand_rerank {top_k: 0, depth: 1, total: 1}", "top_k"},
      {"expand_rerank {top_k: 1, depth: -1, total: 1}", "depth"},
      {"expand_rerank {top_k: 1, depth: 1, total: -1}", "total"},
      {"adaptive_chain {gamma: 0}", "gamma"},
      {"adaptive_chain {gamma: 1, threshold: -0.001}", "threshold"},
      {"adaptive_chain {gamma: 1, threshold: 1.001}", "threshold"},
      {"adaptive_chain {gamma: 1, on_low: stop}", "on_low"},
      {"adaptive_chain {gamma: 1, adjust: true, max_gamma: 0}",
       "'max_gamma' must be at least 1"},
      {"adaptive_chain {gamma: 1, goal: 0}", "'goal' must lie in (0, 1)"},
      {"adaptive_chain {gamma: 1, goal: 1}", "'goal' must lie in (0, 1)"},
      {"adaptive_chain {gamma: 1, goal: 0.5, step: 0}", "'step' must lie in"},
      {"adaptive_chain {gamma: 1, goal: 0.5, step: 1.001}", "'step' must lie"},
      {"adaptive_chain {gamma: 1, step: 0.1}", "'step' belongs to goal"},
      {"adaptive_chain {gamma: 1, goal: 0.5, on_low: drop}",
       "'on_low' must be keep_and_stop where there is a goal"},
      {"adaptive_chain {gamma: 1, goal: 0.5, on_low: stop_before}",
       "'on_low' must be keep_and_stop where there is a goal"},
      {"expansion {branching: [2, 0]}", "branching"},
      {Auto("memory: 0"), "memory"},
      {Auto("trial: 0"), "trial"},
      {"auto {acceptance: [0.5], budget: 2, draft_ms: 0}", "target_ms"},
      {"auto {acceptance: [0.7, 0.7], budget: 2, target_ms: {1: 1, 3: 2}}",
       "acceptance"},
  };
  for (const auto& [spec, named] : kCases) {
    const absl::Status status = Build(spec);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << spec;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(named));
  }
}

TEST(PolicyKeys, StaticTakesExactlyOneOfItsThreeForms) {
  const std::string path = testing::TempDir() + "policy_keys_paths.json";
  std::ofstream(path) << "[[0], [0, 0]]";
  const std::string forms[] = {"paths: [[0], [0, 0]]", "file: " + path,
                               "accuracies: [[0.5]], budget: 1"};
  EXPECT_EQ(Build("static {}").code(), absl::StatusCode::kInvalidArgument);
  for (const std::string& one : forms) {
    EXPECT_EQ(Build("static {" + one + "}"), absl::OkStatus()) << one;
    for (const std::string& other : forms) {
      if (&one == &other) continue;
      const absl::Status both = Build("static {" + one + ", " + other + "}");
      EXPECT_THAT(std::string(both.message()),
                  testing::HasSubstr("exactly one of paths, file and"))
          << one << ", " << other;
    }
  }
  EXPECT_THAT(ParentsOf("static {" + forms[0] + "}"), ElementsAre(-1, 0, 1));
  EXPECT_THAT(ParentsOf("static {" + forms[1] + "}"), ElementsAre(-1, 0, 1));
  EXPECT_THAT(ParentsOf("static {" + forms[2] + "}"), ElementsAre(-1, 0));
}

TEST(PolicyKeys, ACalibrationStandsForWhatItMeasured) {
  EXPECT_THAT(
      ParentsOf("sequoia {calibration: {acceptance: [0.5]}, budget: 1}"),
      ElementsAre(-1, 0));
  const struct {
    const char* spec;
    const char* named;
  } kCases[] = {
      {"sequoia {calibration: {tokens: 1}, budget: 1}", "has no 'acceptance'"},
      {"sequoia {calibration: {acceptance: [0.5]}, acceptance: [0.5], "
       "budget: 1}",
       "and 'acceptance' exclude each other"},
      {"sequoia {calibration: {acceptance: [0.5], acceptanse: 1}, budget: 1}",
       "acceptanse"},
      {"sequoia {calibration: {acceptance: half}, budget: 1}", "list"},
  };
  for (const auto& [spec, named] : kCases)
    EXPECT_THAT(std::string(Build(spec).message()), testing::HasSubstr(named));
}

// Also what no policy reads: the file is then not what it says.
TEST(PolicyKeys, ACalibrationSaysWhatCalibrateWrites) {
  const auto told = [](const std::string& keys) {
    return std::string(Build("sequoia {calibration: {acceptance: [0.5], " +
                             keys + "}, budget: 1}")
                           .message());
  };
  EXPECT_EQ(
      told("drafter: d, verifier: v, draws: deterministic, temperature: 0, "
           "tokens: 9, nodes: 2, accepted: [1], acceptance_low: [0.1], "
           "acceptance_high: [1], draft_ms: 0.1, positions: [2], "
           "hits: [[1, 1]], accuracies: [[0.5, 0.5]]"),
      "");
  // Shares are written with four digits.
  EXPECT_EQ(told("nodes: 9675, accepted: [4838]"), "");
  EXPECT_EQ(told("accuracies: [[0.3333]], positions: [3], hits: [[1]]"), "");
  // A rank that was never accepted, a calibration of no text.
  EXPECT_EQ(told("tokens: 0, nodes: 0, accepted: [0], positions: [0]"), "");
  const struct {
    const char* keys;
    const char* named;
  } kCases[] = {
      {"drafter: [a]", "expected"},
      {"nodes: 100, accepted: [51]", "rank by rank"},
      {"nodes: 100, accepted: [50, 1]", "rank by rank"},
      {"nodes: 0, accepted: [1]", "rank by rank"},
      {"accuracies: [[0.5]], positions: [100], hits: [[51]]", "head by head"},
      {"accuracies: [[0.5]], positions: [100, 9], hits: [[50]]",
       "head by head"},
      {"verifier: ''", "'verifier' must be a name"},
      {"draws: lawless", "'draws' must be one of independent, "},
      {"temperature: -1", "'temperature' must not be negative"},
      {"tokens: many", "many"},
      {"tokens: -1", "'tokens' must not be negative"},
      {"nodes: 1.5", "1.5"},
      {"accepted: [-1]", "'accepted' must be numbers that are not negative"},
      {"positions: 3", "3"},
      {"hits: [3]", "3"},
      {"accuracies: [a]", "a"},
      {"acceptance_low: [1.5]", "'acceptance_low' must be shares from 0 to 1"},
      {"acceptance_high: [.nan]", "acceptance_high"},
      {"acceptance_high: [0.5, 0.5]",
       "'acceptance_high' must have 1 number, as acceptance has"},
      {"draft_ms: fast", "fast"},
  };
  for (const auto& [keys, named] : kCases)
    EXPECT_THAT(told(keys), testing::AllOf(testing::HasSubstr(named),
                                           testing::HasSubstr(":1:")))
        << keys;
}

// A level that costs a hundred passes is not drafted.
TEST(PolicyKeys, DraftTimesOfACalibrationGiveWayToTheSectionsOwn) {
  const std::string target = "budget: 1, target_ms: {1: 1, 2: 1}";
  EXPECT_THAT(
      ParentsOf("sequoia {calibration: {acceptance: [0.5]}, " + target + "}"),
      ElementsAre(-1, 0));
  const std::string slow =
      "sequoia {calibration: {acceptance: [0.5], draft_ms: 100}, " + target;
  EXPECT_THAT(ParentsOf(slow + "}"), ElementsAre(-1));
  EXPECT_THAT(ParentsOf(slow + ", draft_ms: 0}"), ElementsAre(-1, 0));
}

TEST(PolicyKeys, AShapeThatDependsOnTheDrawsCannotBePlanned) {
  const std::string spec = "best_first {budget: 1}";
  const auto plan = PlanShape(ParseYaml(Section(spec), spec).value());
  EXPECT_THAT(std::string(plan.status().message()),
              testing::HasSubstr("depends on what is drawn"));
}

}  // namespace
}  // namespace banyan
