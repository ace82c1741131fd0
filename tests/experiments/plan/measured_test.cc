// What `measured` chooses at stated costs, and what it refuses.
#include "experiments/plan/measured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/read_experiment.h"
#include "tests/experiments/plan/made_experiment.h"
#include "tree/optimize/chain.h"
#include "tree/optimize/cost_curve.h"
#include "tree/optimize/hardware.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kTables[] =
    "costs:\n"
    "  - acceptance:\n"
    "      - target: large\n"
    "        weights: bf16\n"
    "        temperature: 0\n"
    "        drafters: [weak]\n"
    "        draws: [deterministic]\n"
    "        rounds: 100\n"
    "        counts:\n"
    "          - {depth: 1, judged: [100, 40, 20], accepted: [60, 20, 10]}\n"
    "          - {depth: 2, judged: [60], accepted: [50]}\n"
    "          - {depth: 3, judged: [50], accepted: [45]}\n"
    "          - {depth: 4, judged: [45], accepted: [40]}\n"
    "          - {depth: 5, judged: [40], accepted: [36]}\n"
    "          - {depth: 6, judged: [36], accepted: [32]}\n"
    "          - {depth: 7, judged: [32], accepted: [29]}\n"
    "          - {depth: 8, judged: [29], accepted: [26]}\n"
    "          - {depth: 9, judged: [26], accepted: [23]}\n"
    "          - {depth: 10, judged: [23], accepted: [21]}\n"
    "  - acceptance:\n"
    "      - target: large\n"
    "        weights: bf16\n"
    "        temperature: 0\n"
    "        drafters: [strong]\n"
    "        draws: [deterministic]\n"
    "        rounds: 100\n"
    "        counts:\n"
    "          - {depth: 1, judged: [50], accepted: [40]}\n"
    "          - {depth: 2, judged: [40], accepted: [36]}\n"
    "          - {depth: 3, judged: [36], accepted: [32]}\n";

constexpr char kExperiment[] =
    "question: Does it?\n"
    "target: {directory: some/large}\n"
    "workload: {file: prompts.jsonl}\n"
    "sampling: {temperature: 0}\n"
    "compare: {chains: measured}\n"
    "methods:\n"
    "  tree:\n"
    "    models: {draft: {directory: other/weak}}\n"
    "    drafters: [{name: small_model, model: draft}]\n"
    "    policy: {name: sequoia, nodes: measured}\n"
    "    verifier: {name: multi_round}\n"
    "  merged:\n"
    "    models: {a: {directory: other/weak}, b: {directory: other/strong}}\n"
    "    drafters:\n"
    "      - {name: small_model, model: a}\n"
    "      - {name: small_model, model: b}\n"
    "    trunks:\n"
    "      - {drafter: 1, policy: {name: chain, nodes: 1}}\n"
    "      - drafter: 0\n"
    "        policy: {name: expand_rerank, width: 3, nodes: measured}\n"
    "    verifier: {name: multi_round}\n";

const std::map<std::string, std::map<int, double>>& Curves() {
  static const auto* const curves =
      new std::map<std::string, std::map<int, double>>{
          {"flat", {{1, 10}, {65, 10.5}}},
          {"steep", {{1, 10}, {65, 320}}},
          {"cliff", {{1, 10}, {6, 10.4}, {7, 30}, {65, 31}}}};
  return *curves;
}

constexpr double kLevelMs = .4;

absl::StatusOr<Experiment> Completed(const std::string& text,
                                     const std::map<int, double>& curve,
                                     const std::string& weights = "bf16") {
  BANYAN_ASSIGN_OR_RETURN(const Params file, ParseYaml(text, "file.yaml"));
  BANYAN_ASSIGN_OR_RETURN(Experiment experiment, ReadExperiment(file, {}));
  EXPECT_TRUE(experiment.measured);
  BANYAN_ASSIGN_OR_RETURN(const CostPlan plan, PlanCosts(experiment));
  Costs costs;
  for (std::size_t i = 0; i < plan.targets.size(); ++i)
    costs.passes.push_back({.setting = {.weights = weights}, .ms = curve});
  for (std::size_t i = 0; i < plan.probes.size(); ++i)
    costs.levels.push_back({.draws = "deterministic", .ms = kLevelMs});
  BANYAN_RETURN_IF_ERROR(Complete(costs, experiment));
  EXPECT_FALSE(experiment.measured);
  return experiment;
}

const ExperimentCell& CellOf(const Experiment& experiment,
                             const std::string& name) {
  for (const ExperimentCell& cell : experiment.cells)
    if (cell.name == name) return cell;
  ADD_FAILURE() << "no cell " << name;
  return experiment.cells.front();
}

std::vector<std::string> Opponents(const Experiment& experiment,
                                   const std::string& name) {
  constexpr const char* kRoles[] = {"reference ", "nodes ", "best ", "beside "};
  std::vector<std::string> texts;
  for (const Opponent& opponent : CellOf(experiment, name).opponents)
    texts.push_back(absl::StrCat(
        kRoles[static_cast<int>(opponent.role)],
        experiment.cells[static_cast<std::size_t>(opponent.cell)].name));
  return texts;
}

// The length whose tokens over its time are most, of all that are known.
int BestLength(const std::vector<double>& acceptance, double drafted,
               const CostCurve& curve) {
  int best = 1;
  double best_speed = 0;
  for (int length = 1; length <= static_cast<int>(acceptance.size());
       ++length) {
    double tokens = 1;
    for (int depth = length; depth >= 1; --depth)
      tokens = 1 + acceptance[static_cast<std::size_t>(depth - 1)] * tokens;
    const double ms = length * kLevelMs + curve.At(length + 1).value();
    const double speed = (drafted * tokens + 1 - drafted) /
                         (drafted * ms + (1 - drafted) * curve.At(1).value());
    if (speed > best_speed) {
      best = length;
      best_speed = speed;
    }
  }
  return best;
}

TEST(Measured, ChoosesWhatASearchOfAllSizesFinds) {
  const std::vector<double> weak = {.6,       50. / 60, 45. / 50, 40. / 45,
                                    .9,       32. / 36, 29. / 32, 26. / 29,
                                    23. / 26, 21. / 23};
  std::map<std::string, int> lengths;
  for (const auto& [name, ms] : Curves()) {
    const auto experiment = Completed(absl::StrCat(kExperiment, kTables), ms);
    ASSERT_TRUE(experiment.ok()) << experiment.status();
    const CostCurve curve = CostCurve::FromMap("target_ms", ms).value();
    const int chain = BestLength(weak, 1, curve);
    const int strong = BestLength({.8, .9, 32. / 36}, .5, curve);
    lengths[name] = chain;
    std::vector<std::string> names;
    for (const ExperimentCell& cell : experiment->cells)
      names.push_back(cell.name);
    EXPECT_THAT(names,
                testing::Contains(absl::StrCat("chain-", chain, " weak")))
        << name;
    EXPECT_THAT(names,
                testing::Contains(absl::StrCat("chain-", strong, " strong")))
        << name;
    // Which hardware_test holds against every shape.
    const auto best = FastestTree(
        {.limits = {.acceptance = experiment->costs.acceptance.front().ByRank(),
                    .nodes = 64},
         .target_ms = curve,
         .draft_ms = kLevelMs});
    ASSERT_TRUE(best.ok());
    const Params& policy = PolicyOf(CellOf(*experiment, "tree"));
    EXPECT_EQ(policy.Find("nodes")->text(), absl::StrCat(best->nodes));
    EXPECT_EQ(policy.Find("levels")->text(), absl::StrCat(best->levels));
    EXPECT_EQ(policy.Find("acceptance")->items().size(), 3u);
    const Params& trunk = PolicyOf(CellOf(*experiment, "merged"), 1);
    EXPECT_EQ(trunk.Find("nodes")->text(), absl::StrCat(best->nodes));
    EXPECT_EQ(trunk.Find("levels")->text(), absl::StrCat(best->levels));
  }
  EXPECT_GT(lengths["flat"], lengths["cliff"]);
  EXPECT_GT(lengths["cliff"], lengths["steep"]);
}

TEST(Measured, NeighboursOfThePredictedLengthRun) {
  const auto flat =
      Completed(absl::StrCat(kExperiment, kTables), Curves().at("flat"));
  ASSERT_TRUE(flat.ok()) << flat.status();
  // Ten tokens are all that is known of the weak drafter, and the most it may
  // draft; the other one is the faster, though half its rounds draft nothing.
  EXPECT_THAT(
      Opponents(*flat, "tree"),
      ElementsAre("reference chain-10 weak", "beside chain-5 weak",
                  "beside chain-20 weak", testing::StartsWith("nodes chain-"),
                  "best chain-10 weak", "beside chain-5 weak",
                  "beside chain-20 weak"));
  const std::string text = absl::StrCat(kExperiment, kTables);
  const auto without = Completed(
      absl::StrReplaceAll(text, {{"{chains: measured}",
                                  "{chains: measured, neighbours: false}"}}),
      Curves().at("flat"));
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_THAT(
      Opponents(*without, "tree"),
      ElementsAre("reference chain-10 weak",
                  testing::StartsWith("nodes chain-"), "best chain-10 weak"));
  EXPECT_THAT(without->reference_choice,
              HasSubstr("no neighbouring length was run"));
  const auto fewest = Completed(
      absl::StrReplaceAll(text, {{"{chains: measured}",
                                  "{chains: measured, neighbours: false, "
                                  "same_size: false}"}}),
      Curves().at("flat"));
  ASSERT_TRUE(fewest.ok()) << fewest.status();
  EXPECT_THAT(Opponents(*fewest, "tree"),
              ElementsAre("reference chain-10 weak", "best chain-10 weak"));
  EXPECT_THAT(fewest->reference_choice,
              HasSubstr("nor was a chain of as many nodes as a tree drafts"));
  const auto steep = Completed(text, Curves().at("steep"));
  ASSERT_TRUE(steep.ok()) << steep.status();
  EXPECT_THAT(
      Opponents(*steep, "merged"),
      testing::IsSupersetOf({"best chain-1 weak", "beside chain-2 weak"}));
  // A tree of one node is a chain.
  EXPECT_THAT(Opponents(*steep, "tree"),
              ElementsAre("reference chain-3 strong", "beside chain-2 strong",
                          "beside chain-4 strong"));
}

TEST(Measured, AutoReadsCostsOfTheWholeBatch) {
  const auto experiment = Completed(
      absl::StrCat(
          "question: Does it?\ntarget: {directory: some/large}\n"
          "workload: {file: prompts.jsonl}\nsampling: {temperature: 0}\n"
          "batch: 4\nmethods:\n  own:\n"
          "    models: {draft: {directory: other/weak}}\n"
          "    drafters: [{name: small_model, model: draft}]\n"
          "    policy: {name: auto, nodes: 3, target_ms: measured,\n"
          "             acceptance: {acceptance: [{drafters: [weak],\n"
          "               draws: [independent], rounds: 9, counts: [{depth: "
          "1,\n"
          "               judged: [9], accepted: [1]}]}]}, draft_ms: 7}\n"
          "    verifier: {name: multi_round}\n",
          kTables),
      Curves().at("flat"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const Params& policy = PolicyOf(CellOf(*experiment, "own"));
  EXPECT_EQ(policy.Find("batch")->text(), "4");
  EXPECT_EQ(policy.Find("target_ms")->entries().size(), 2u);
  double level = 0;
  EXPECT_TRUE(Convert(*policy.Find("draft_ms"), level).ok());
  EXPECT_EQ(level, kLevelMs);
  std::vector<double> ranks;
  EXPECT_TRUE(Convert(*policy.Find("acceptance"), ranks).ok());
  EXPECT_EQ(ranks, experiment->costs.acceptance.front().ByRank());
}

TEST(Measured, PlansForTheWidestPass) {
  const auto plan = [](const std::string& text) {
    const auto file = ParseYaml(text, "file.yaml");
    return PlanCosts(ReadExperiment(*file, {}).value()).value();
  };
  const CostPlan trees = plan(absl::StrCat(kExperiment, kTables));
  EXPECT_EQ(trees.rows, 65);
  EXPECT_EQ(trees.targets.size(), 1u);
  // The weak drafter's draws for sequoia and for a chain are alike, those of a
  // tree that is ranked are stated.
  EXPECT_EQ(trees.probes.size(), 3u);
}

TEST(Measured, RefusesByName) {
  const auto refused = [](const std::string& from, const std::string& to,
                          const std::string& weights = "bf16") {
    const std::string text = absl::StrCat(kExperiment, kTables);
    const std::string other = absl::StrReplaceAll(text, {{from, to}});
    EXPECT_NE(text, other);
    return std::string(
        Completed(other, Curves().at("flat"), weights).status().message());
  };
  EXPECT_THAT(
      refused("drafters: [strong]", "drafters: [other]"),
      HasSubstr(
          "no acceptance of drafter strong; the tables have other or weak"));
  EXPECT_THAT(
      refused("target: large\n        weights: bf16\n        temperature: 0\n"
              "        drafters: [strong]",
              "target: small\n        weights: bf16\n        temperature: 0\n"
              "        drafters: [strong]"),
      HasSubstr("no acceptance of target large for drafter strong; the tables "
                "have small"));
  EXPECT_THAT(refused("question: Does it?", "question: Really?", "q8"),
              HasSubstr("no acceptance of weights q8 for drafter weak, target "
                        "large; the tables have bf16"));
  EXPECT_THAT(
      refused("sampling: {temperature: 0}", "sampling: {temperature: 0.5}"),
      HasSubstr("no acceptance of temperature 0.5 for drafter weak, target "
                "large; the tables have 0"));
  EXPECT_THAT(
      refused("drafters: [strong]\n        draws: [deterministic]",
              "drafters: [strong]\n        draws: [independent]"),
      HasSubstr("no acceptance of draws deterministic for drafter strong"));
  EXPECT_THAT(
      refused("    trunks:\n      - {drafter: 1, policy: {name: chain, "
              "nodes: 1}}\n      - drafter: 0\n        policy:",
              "    policy:"),
      HasSubstr("file.yaml:17:13: measured: a size can be measured for one"));
}

TEST(Measured, MissesATableBeforeCostsAreMeasured) {
  const auto file = ParseYaml(
      absl::StrReplaceAll(absl::StrCat(kExperiment, kTables),
                          {{"drafters: [strong]", "drafters: [other]"}}),
      "file.yaml");
  EXPECT_THAT(
      std::string(
          PlanCosts(ReadExperiment(*file, {}).value()).status().message()),
      HasSubstr("no acceptance of drafter strong"));
}

std::string ReadError(const std::string& experiment,
                      const std::string& tables) {
  const auto file = ParseYaml(absl::StrCat(experiment, tables), "file.yaml");
  if (!file.ok()) return std::string(file.status().message());
  return std::string(ReadExperiment(*file, {}).status().message());
}

TEST(Measured, MissesAcceptanceAltogether) {
  const auto file = ParseYaml(kExperiment, "file.yaml");
  EXPECT_THAT(
      std::string(
          PlanCosts(ReadExperiment(*file, {}).value()).status().message()),
      HasSubstr("the costs have no acceptance of a single drafter; `banyan "
                "measure FILE --out costs.yaml` counts it"));
  EXPECT_THAT(ReadError(kExperiment, "acceptance: 3\n"),
              HasSubstr("'acceptance' is now 'costs'"));
}

TEST(Measured, NeighboursNeedPredictions) {
  EXPECT_THAT(
      ReadError(absl::StrReplaceAll(kExperiment, {{"{chains: measured}",
                                                   "{neighbours: false}"}}),
                kTables),
      HasSubstr("file.yaml:5:23: compare: 'neighbours' needs `chains: "
                "measured`"));
}

}  // namespace
}  // namespace banyan
