// What cost_aware is told of drafters that draw in one tree, and what is
// refused.
#include "experiments/plan/joint_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/measured.h"
#include "experiments/plan/read_experiment.h"
#include "tests/experiments/plan/made_experiment.h"
#include "tree/policies/catalogue.h"

namespace banyan {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

// Of 100 rounds: both are right in 30, a alone in 20, b alone in 10.
constexpr char kTables[] = R"yaml(acceptance:
  - target: large
    temperature: 0
    drafters: [a]
    draws: [deterministic]
    rounds: 100
    counts:
      - {depth: 1, judged: [100, 50], accepted: [50, 10]}
      - {depth: 2, judged: [60], accepted: [24]}
  - target: large
    temperature: 0
    drafters: [b]
    draws: [deterministic]
    rounds: 100
    counts: [{depth: 1, judged: [100], accepted: [40]}]
  - target: large
    temperature: 0
    drafters: [c, a, b]
    draws: [deterministic, deterministic, deterministic]
    rounds: 100
    counts:
      - {drafter: 0, depth: 1, also: [1, 2], judged: [40], accepted: [30]}
      - {drafter: 0, depth: 1, judged: [60], accepted: [5]}
      - {drafter: 1, depth: 1, judged: [55], accepted: [20]}
      - {drafter: 2, depth: 1, also: [0], judged: [35], accepted: [10]}
)yaml";

Costs CostsOf(const std::string& text) {
  const auto file = ParseYaml(text, "costs.yaml");
  Check(file.ok(), file.status().message());
  const auto costs = ReadCosts(*file);
  Check(costs.ok(), costs.status().message());
  return *costs;
}

const CostQuestion kQuestion = {.target = "large", .temperature = 0};

TEST(JointCosts, CountWhoseFirstDrawsWereAccepted) {
  const Costs costs = CostsOf(kTables);
  const auto together = FindTogether(costs, kQuestion, {"a", "b"});
  ASSERT_TRUE(together.ok()) << together.status();
  const JointNumbers numbers = CountJointly(
      {costs.acceptance[0], costs.acceptance[1]}, &*together, {"a", "b"});
  // None of the two, a alone, b alone, both; c has no place here.
  EXPECT_THAT(numbers.together,
              ElementsAre(DoubleNear(0.4, 1e-3), DoubleNear(0.2, 1e-3),
                          DoubleNear(0.1, 1e-3), DoubleNear(0.3, 1e-3)));
  ASSERT_EQ(numbers.alone.size(), 2U);
  // Few that were judged are drawn towards the draw before, or the depth above.
  ASSERT_EQ(numbers.alone[0].size(), 2U);
  EXPECT_NEAR(numbers.alone[0][0][0], (50 + 8 * 0.5) / 108, 1e-3);
  EXPECT_NEAR(numbers.alone[0][0][1], (10 + 8 * 0.5) / 58, 1e-3);
  EXPECT_NEAR(numbers.alone[0][1][0], (24 + 8 * 0.5) / 68, 1e-3);
  EXPECT_GT(numbers.agree_right[0][1], numbers.agree_wrong[0][1]);
  EXPECT_TRUE(JointAcceptance::Check(numbers.alone, numbers.together,
                                     numbers.agree_right, numbers.agree_wrong)
                  .ok());
}

TEST(JointCosts, RefuseTablesOfOthers) {
  const Costs costs = CostsOf(kTables);
  const auto error = [&](const CostQuestion& question,
                         const std::vector<std::string>& labels) {
    return std::string(
        FindTogether(costs, question, labels).status().message());
  };
  EXPECT_THAT(error(kQuestion, {"a", "d"}),
              testing::AllOf(HasSubstr("a, d"), HasSubstr("c, a, b on large")));
  EXPECT_THAT(error({.target = "other", .temperature = 0}, {"a", "b"}),
              HasSubstr("on other"));
  EXPECT_THAT(error({.target = "large", .temperature = 1}, {"a", "b"}),
              HasSubstr("at temperature 1"));
}

constexpr char kExperiment[] = R"yaml(question: Does it?
target: {directory: some/large}
workload: {file: prompts.jsonl}
sampling: {temperature: 0}
methods:
  merged:
    models: {a: {directory: other/a}, b: {directory: other/b}}
    drafters: [{name: small_model, model: a}, {name: small_model, model: b}]
    policy: {name: cost_aware, nodes: 12, target_ms: measured}
    verifier: {name: multi_round}
)yaml";

absl::StatusOr<Experiment> Completed(const std::string& experiment_text,
                                     const std::string& tables) {
  const std::string indented =
      absl::StrReplaceAll("\n" + tables, {{"\n", "\n  "}});
  BANYAN_ASSIGN_OR_RETURN(
      const Params file,
      ParseYaml(absl::StrCat(experiment_text, "costs:", indented, "\n"),
                "file.yaml"));
  BANYAN_ASSIGN_OR_RETURN(Experiment experiment, ReadExperiment(file, {}));
  BANYAN_ASSIGN_OR_RETURN(const CostPlan plan, PlanCosts(experiment));
  Costs costs;
  for (std::size_t i = 0; i < plan.targets.size(); ++i)
    costs.passes.push_back({.ms = {{1, 10}, {65, 20}}});
  for (std::size_t i = 0; i < plan.probes.size(); ++i)
    costs.levels.push_back(
        {.draws = "deterministic", .ms = static_cast<double>(i + 1)});
  BANYAN_RETURN_IF_ERROR(Complete(costs, experiment));
  return experiment;
}

TEST(JointCosts, ArePutIntoThePolicyOfEveryTrunk) {
  const auto experiment = Completed(kExperiment, kTables);
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const ExperimentCell& cell = experiment->cells.back();
  for (int trunk : {0, 1}) {
    const Params& policy = PolicyOf(cell, trunk);
    EXPECT_EQ(policy.Find("draft_ms")->items().size(), 2U);
    EXPECT_EQ(policy.Find("together")->items().size(), 4U);
    EXPECT_EQ(policy.Find("nodes")->text(), "12");
    const auto built = BuildPolicy(policy);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_EQ(built->policy->traits().drafters, 2);
  }
  EXPECT_EQ(PolicyOf(cell, 0).Find("draft_ms")->items()[1].text(), "2");
}

TEST(JointCosts, AreRefusedByNameWhereTheyAreMissing) {
  const auto error = [](const std::string& text, const std::string& tables) {
    return std::string(Completed(text, tables).status().message());
  };
  EXPECT_THAT(error(kExperiment,
                    absl::StrReplaceAll(kTables, {{"[c, a, b]", "[c, a, d]"}})),
              HasSubstr("a, b in one tree on large"));
  EXPECT_THAT(
      error(kExperiment,
            absl::StrReplaceAll(kTables, {{"drafters: [b]", "drafters: [e]"}})),
      HasSubstr("drafter b"));
}

}  // namespace
}  // namespace banyan
