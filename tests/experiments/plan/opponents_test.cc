// What an experiment's trees are held against.
#include "experiments/plan/opponents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "decode/host_cause.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/read_experiment.h"
#include "tests/experiments/plan/made_experiment.h"

namespace banyan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kMethods[] =
    "question: Does it?\n"
    "target: {directory: some/large}\n"
    "workload: {file: prompts.jsonl}\n"
    "methods:\n"
    "  line:\n"
    "    models: {draft: {directory: other/weak}}\n"
    "    drafters: [{name: small_model, model: draft}]\n"
    "    policy: {name: chain, nodes: 3}\n"
    "    verifier: {name: multi_round}\n"
    "  tree:\n"
    "    models: {draft: {directory: other/weak}}\n"
    "    drafters: [{name: small_model, model: draft}]\n"
    "    policy: {name: expansion, branching: [2, 1]}\n"
    "    verifier: {name: multi_round}\n"
    "  merged:\n"
    "    models: {a: {directory: other/weak}, b: {directory: other/strong/}}\n"
    "    drafters:\n"
    "      - {name: small_model, model: a}\n"
    "      - {name: small_model, model: b}\n"
    "      - {name: ngram}\n"
    "    trunks:\n"
    "      - {drafter: 0, policy: {name: chain, nodes: 1}}\n"
    "      - {drafter: 1, policy: {name: chain, nodes: 1}}\n"
    "      - {drafter: 2, policy: {name: chain, nodes: 2}}\n"
    "    verifier: {name: multi_round}\n"
    "matrix:\n"
    "  sampling.temperature: [0, 1]\n";

std::string Length(const std::string& drafter, double temperature, int length,
                   double speed) {
  return absl::StrCat("    - {target: large, drafter: ", drafter,
                      ", temperature: ", temperature, ", length: ", length,
                      ", speed: ", speed, "}\n");
}

// The weak drafter is fastest with four tokens, the strong one with six.
std::string Lengths() {
  return absl::StrCat("compare:\n  chains:\n    chains:\n",
                      Length("weak", 0, 4, 1.5), Length("strong", 0, 6, 2.5),
                      Length("weak", 1, 2, 1.4), Length("strong", 1, 4, 1.2));
}

absl::StatusOr<Experiment> Read(const std::string& text) {
  return ReadExperiment(ParseYaml(text, "file.yaml").value(), {});
}

// "chain-4 weak" for each of a cell's opponents, with its role.
std::vector<std::string> Opponents(const Experiment& experiment,
                                   const std::string& name) {
  std::vector<std::string> texts;
  for (const ExperimentCell& cell : experiment.cells)
    if (cell.name == name)
      for (const Opponent& opponent : cell.opponents)
        texts.push_back(absl::StrCat(
            opponent.role == OpponentRole::kReference   ? "reference "
            : opponent.role == OpponentRole::kSameNodes ? "nodes "
            : opponent.role == OpponentRole::kNeighbour ? "neighbour "
                                                        : "fastest ",
            experiment.cells[static_cast<std::size_t>(opponent.cell)].name));
  return texts;
}

TEST(Opponents, OfATreeAreItsDraftersChains) {
  const auto experiment = Read(kMethods + Lengths());
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  // At temperature 0 the strong drafter's chain is the fastest there is.
  EXPECT_THAT(Opponents(*experiment, "tree, sampling.temperature=0"),
              ElementsAre("reference chain-6 strong, sampling.temperature=0",
                          "nodes chain-4 weak, sampling.temperature=0",
                          "fastest chain-4 weak, sampling.temperature=0"));
  EXPECT_THAT(
      Opponents(*experiment, "tree, sampling.temperature=1"),
      ElementsAre("reference chain-2 weak by block, sampling.temperature=1",
                  "neighbour chain-2 weak, sampling.temperature=1",
                  "nodes chain-4 weak by block, sampling.temperature=1",
                  "fastest chain-2 weak by block, sampling.temperature=1",
                  "neighbour chain-2 weak, sampling.temperature=1"));
  EXPECT_THAT(Opponents(*experiment, "merged, sampling.temperature=0"),
              ElementsAre("reference chain-6 strong, sampling.temperature=0",
                          "nodes chain-4 weak, sampling.temperature=0",
                          "fastest chain-4 weak, sampling.temperature=0",
                          "nodes chain-4 strong, sampling.temperature=0",
                          "fastest chain-6 strong, sampling.temperature=0",
                          "nodes chain-4 ngram, sampling.temperature=0"));
  EXPECT_THAT(Opponents(*experiment, "line, sampling.temperature=0"),
              ElementsAre("reference chain-6 strong, sampling.temperature=0"));
  EXPECT_THAT(Opponents(*experiment, "plain, sampling.temperature=0"),
              IsEmpty());
  EXPECT_THAT(experiment->notes,
              ElementsAre(HasSubstr("no length for drafter ngram on target "
                                    "large"),
                          HasSubstr("chains are judged by block"),
                          HasSubstr("trees run by traversal")));
}

// Of the cells whose method begins so: method and verifier.
std::vector<std::string> Verifiers(const Experiment& experiment,
                                   const std::string& start) {
  std::vector<std::string> texts;
  for (const ExperimentCell& cell : experiment.cells)
    if (absl::StartsWith(cell.method, start))
      texts.push_back(absl::StrCat(cell.method, ": ",
                                   cell.spec.verifier.Find("name")->text(),
                                   " at ", TemperatureOf(cell)));
  return texts;
}

TEST(Opponents, AreJudgedByTheVerifierThatKeepsMost) {
  const auto experiment = Read(kMethods + Lengths());
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(Verifiers(*experiment, "tree"),
              ElementsAre("tree: multi_round at 0", "tree: multi_round at 1",
                          "tree by traversal: traversal at 1"));
  EXPECT_EQ(Opponents(*experiment, "tree by traversal, sampling.temperature=1"),
            Opponents(*experiment, "tree, sampling.temperature=1"));
  EXPECT_THAT(Verifiers(*experiment, "line"),
              ElementsAre("line: multi_round at 0", "line: multi_round at 1"));
  EXPECT_THAT(Verifiers(*experiment, "chain-2 weak"),
              ElementsAre("chain-2 weak by block: block at 1",
                          "chain-2 weak: multi_round at 1"));
  EXPECT_THAT(Verifiers(*experiment, "chain-4 weak"),
              ElementsAre("chain-4 weak: multi_round at 0",
                          "chain-4 weak by block: block at 1"));
}

TEST(Opponents, HaveOtherVerifiersOnlyWhereTheyAreWanted) {
  const auto experiment =
      Read(absl::StrCat(kMethods, Lengths(), "  verifiers: false\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(Verifiers(*experiment, "tree"),
              ElementsAre("tree: multi_round at 0", "tree: multi_round at 1"));
  EXPECT_THAT(Verifiers(*experiment, "chain-2 weak"),
              ElementsAre("chain-2 weak by block: block at 1"));
}

// A device that runs rounds alone judges from the root, and chains run there as
// the trees do.
TEST(Opponents, OfRoundsOnADeviceAreJudgedThere) {
  const auto experiment =
      Read(absl::StrCat("rounds: device\n", kMethods, Lengths()));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(Verifiers(*experiment, "tree"),
              ElementsAre("tree: multi_round at 0", "tree: multi_round at 1"));
  EXPECT_THAT(Verifiers(*experiment, "chain-2 weak"),
              ElementsAre("chain-2 weak: multi_round at 1"));
  for (const ExperimentCell& cell : experiment->cells)
    if (cell.method != "plain") {
      EXPECT_EQ(cell.spec.rounds, RoundsOn::kDevice) << cell.name;
    }
}

// One that only ranks candidates, and draws shared by cousins.
TEST(Opponents, KeepTheirVerifierWhereDrawsDoNotAllowAnother) {
  const auto experiment = Read(absl::StrCat(
      "question: Does it?\ntarget: {directory: some/large}\n"
      "workload: {file: prompts.jsonl}\nsampling: {temperature: 1}\nmethods:\n"
      "  ranked:\n    drafters: [{name: copy}]\n"
      "    policy: {name: expansion, branching: [2, 1]}\n"
      "    verifier: {name: multi_round}\n"
      "  cousins:\n    drafters: [{name: ngram}]\n"
      "    policy: {name: expansion, branching: [2, 1], share_draws: true}\n"
      "    verifier: {name: multi_round}\n"
      "  typical:\n    drafters: [{name: ngram}]\n"
      "    policy: {name: expansion, branching: [2, 1]}\n"
      "    verifier: {name: typical}\n"
      "compare:\n  chains:\n    chains:\n",
      Length("copy", 1, 5, 1.5)));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(Opponents(*experiment, "ranked"),
              ElementsAre("reference chain-5 copy", "nodes chain-4 copy",
                          "fastest chain-5 copy"));
  EXPECT_THAT(Verifiers(*experiment, "cousins"),
              ElementsAre("cousins: multi_round at 1"));
  EXPECT_THAT(Verifiers(*experiment, "typical"),
              ElementsAre("typical: typical at 1"));
}

TEST(Opponents, AreCellsLikeAnyOther) {
  const auto experiment = Read(kMethods + Lengths());
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  int chains = 0;
  for (const ExperimentCell& cell : experiment->cells) {
    if (cell.method != "chain-4 strong") continue;
    ++chains;
    EXPECT_EQ(cell.spec.models.size(), 1u);
    EXPECT_EQ(cell.spec.drafters.size(), 1u);
    EXPECT_EQ(PolicyOf(cell).Find("nodes")->text(), "4");
    const ExperimentCell& plain =
        experiment->cells[static_cast<std::size_t>(cell.baseline)];
    EXPECT_EQ(plain.axes, cell.axes);
    EXPECT_THAT(cell.opponents, IsEmpty());
  }
  EXPECT_EQ(chains, 2);  // one a temperature, whoever asks for it
}

// The models of a drafter's drafters are its own.
TEST(Opponents, OfADrafterMadeOfDraftersHaveItWhole) {
  const auto relayed = [](const std::string& method, const std::string& weak,
                          const std::string& policy) {
    return absl::StrCat(
        "  ", method, ":\n    models: {", weak,
        ": {directory: other/weak}, c: {directory: other/strong}}\n"
        "    drafters:\n"
        "      - name: relay\n        spans:\n"
        "          - {levels: 2, drafter: {name: small_model, model: c}}\n"
        "          - {drafter: {name: small_model, model: ",
        weak, "}}\n    policy: {name: ", policy,
        "}\n    verifier: {name: multi_round}\n");
  };
  const auto experiment = Read(absl::StrCat(
      "question: Does it?\ntarget: {directory: some/large}\n"
      "workload: {file: prompts.jsonl}\nmethods:\n",
      relayed("wide", "a", "expansion, branching: [3]"),
      relayed("deep", "b", "best_first, most_draws: 3"),
      relayed("other", "a", "expansion, branching: [2]"),
      "compare:\n  chains:\n    chains:\n", Length("relay", 1, 5, 1.5)));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(
      Opponents(*experiment, "wide"),
      ElementsAre("reference chain-5 relay by block", "neighbour chain-5 relay",
                  "nodes chain-3 relay by block",
                  "fastest chain-5 relay by block", "neighbour chain-5 relay"));
  // Models of other names are the same.
  EXPECT_EQ(Opponents(*experiment, "deep"), Opponents(*experiment, "wide"));
  for (const ExperimentCell& cell : experiment->cells)
    if (cell.method == "chain-3 relay by block") {
      EXPECT_EQ(cell.spec.models.size(), 2);
      EXPECT_EQ(PathOf(cell, "c"), "other/strong");
    }
}

TEST(Opponents, ADrafterHasItsModelsNameUnlessItIsMadeOfDrafters) {
  EXPECT_EQ(DrafterLabel("small_model", "weak"), "weak");
  EXPECT_EQ(DrafterLabel("cascade(copy, ngram)", "weak"), "cascade");
}

TEST(Opponents, TheReferenceMayBeAMethod) {
  const auto experiment = Read(
      absl::StrCat(kMethods, "compare: {reference: line, rivals: [tree]}"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(Opponents(*experiment, "tree, sampling.temperature=1"),
              ElementsAre("reference line, sampling.temperature=1"));
  EXPECT_THAT(Opponents(*experiment, "merged, sampling.temperature=1"),
              IsEmpty());
  EXPECT_EQ(experiment->cells.size(), 8u);
}

TEST(Opponents, WithoutChainsTheReferenceIsPlainDecoding) {
  const auto experiment = Read(absl::StrCat(kMethods, "compare: {}"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(Opponents(*experiment, "tree, sampling.temperature=1"),
              ElementsAre("reference plain, sampling.temperature=1"));
}

TEST(Opponents, TheExperimentSaysWhyTheReferenceIsOne) {
  const auto choice = [](const std::string& compare) {
    const auto experiment =
        Read(absl::StrCat(kMethods, "compare: {", compare, "}"));
    EXPECT_TRUE(experiment.ok()) << experiment.status();
    return experiment.ok() ? experiment->reference_choice : "";
  };
  EXPECT_EQ(choice(""), "plain decoding, since the experiment names no other");
  EXPECT_EQ(choice("reference: line"),
            "the method that the experiment names (compare.reference)");
  EXPECT_THAT(choice("chains: {chains: [{target: large, drafter: line, "
                     "temperature: 0, length: 2, speed: 1}]}"),
              testing::StartsWith("the chain of a rival's drafter that was "
                                  "fastest on other prompts"));
}

TEST(Opponents, WhatCannotBeComparedIsRefused) {
  const struct {
    std::string compare;
    const char* said;
  } kCases[] = {
      {"compare: {reference: lime}", "did you mean 'line'"},
      {"compare: {rivals: [trees]}", "did you mean 'tree'"},
      {"compare: {rival: [tree]}", "rival"},
      {"compare: {verifiers: true}", "needs `chains`"},
      {"compare: {chains: {chains: [{target: large}]}}", "drafter"},
      {"compare: {chains: [1]}", "a file of costs with `chains`"},
      {"compare: {chains: {passes: [{ms: {1: 1}}]}}", "costs with `chains`"},
      {"compare: {chains: {chains: [{target: a, drafter: b, temperature: 0, "
       "length: 0, speed: 1}]}}",
       "'length' must lie between 1 and 4096"},
      {"  methods.line.policy.nodes: [1, 2]\ncompare: {reference: line}",
       "method line has 2 cells beside"}};
  for (const auto& [compare, said] : kCases) {
    const auto read = Read(kMethods + compare);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument)
        << compare;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(said));
  }
}

}  // namespace
}  // namespace banyan
