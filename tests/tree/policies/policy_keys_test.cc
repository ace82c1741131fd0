// The keys of the policies: every value up to its edge, and none beyond.
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/support/drafting.h"
#include "tests/support/listed_keys.h"
#include "tree/policies/catalogue.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"

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
  return "auto {acceptance: [0.5], nodes: 2, draft_ms: 0, target_ms: "
         "{1: 1, 3: 2}, " +
         key + "}";
}

TEST(PolicyKeys, HoldUpToTheirEdges) {
  for (const std::string& spec :
       {std::string("chain {nodes: 0}"), std::string("chain {nodes: 4096}"),
        std::string("sequences {width: 1, levels: 0}"),
        std::string("sequences {width: 64, levels: 64}"),
        std::string("best_first {most_draws: 4096}"),
        std::string("best_first {most_draws: 0, levels: 0, min_value: 0}"),
        std::string("best_first {most_draws: 1, levels: 1, min_value: 1}"),
        std::string("expand_rerank {width: 1, levels: 0, nodes: 0}"),
        std::string("adaptive_chain {nodes: 1, threshold: 0}"),
        std::string("adaptive_chain {nodes: 1, threshold: 1}"),
        std::string("adaptive_chain {nodes: 1, on_low: keep_and_stop}"),
        std::string("adaptive_chain {nodes: 1, on_low: drop}"),
        std::string("adaptive_chain {nodes: 1, on_low: stop_before}"),
        std::string("adaptive_chain {nodes: 1, adjust: true, max_nodes: 1}"),
        std::string("adaptive_chain {nodes: 1, goal: 0.001, step: 1}"),
        std::string("adaptive_chain {nodes: 1, goal: 0.999, step: 0.001}"),
        Auto("memory: 1"), Auto("trial: 1")})
    EXPECT_EQ(Build(spec), absl::OkStatus()) << spec;
}

TEST(PolicyKeys, BeyondTheirEdgesAreRefusedByName) {
  const struct {
    std::string spec;
    const char* named;
  } kCases[] = {
      {"chain {nodes: -1}", "nodes"},
      {"chain {nodes: 4097}", "'nodes' makes up to 4097 draws a round"},
      {"sequences {width: 1000000, levels: 4}", "'width' makes up to 4e+06"},
      {"sequences {width: 2147483647, levels: 2147483647}", "more than 4096"},
      {"best_first {most_draws: 1000000000}", "'most_draws' makes up to 1e+09"},
      {"expand_rerank {width: 10, levels: 100, nodes: 60}",
       "'levels' makes up to 9910"},
      {"expand_rerank {width: 1000000, levels: 1, nodes: 60}",
       "more than 4096"},
      {"adaptive_chain {nodes: 5000}", "'nodes' makes up to 5000"},
      {"adaptive_chain {nodes: 1, adjust: true, max_nodes: 5000}",
       "'max_nodes' makes up to 5000"},
      {"expansion {branching: [64, 64]}", "makes up to 4160 draws a round"},
      {"sequoia {acceptance: [0.9, 0.05], nodes: 5000}",
       "'nodes' makes up to 5000 draws a round"},
      {"auto {acceptance: [0.9, 0.05], nodes: 1025, draft_ms: 0, target_ms: "
       "{1: 1, 1026: 1}}",
       "'nodes' must be at most 1024"},
      {"sequences {width: 0, levels: 1}", "width"},
      {"sequences {width: 1, levels: -1}", "levels"},
      {"best_first {most_draws: -1}", "most_draws"},
      {"best_first {most_draws: 1, levels: -1}", "levels"},
      {"best_first {most_draws: 1, min_value: -0.001}", "min_value"},
      {"best_first {most_draws: 1, min_value: 1.001}", "min_value"},
      {"expand_rerank {width: 0, levels: 1, nodes: 1}", "width"},
      {"expand_rerank {width: 1, levels: -1, nodes: 1}", "levels"},
      {"expand_rerank {width: 1, levels: 1, nodes: -1}", "nodes"},
      {"adaptive_chain {nodes: 0}", "nodes"},
      {"adaptive_chain {nodes: 1, threshold: -0.001}", "threshold"},
      {"adaptive_chain {nodes: 1, threshold: 1.001}", "threshold"},
      {"adaptive_chain {nodes: 1, on_low: stop}", "on_low"},
      {"adaptive_chain {nodes: 1, adjust: true, max_nodes: 0}",
       "'max_nodes' must be at least 1"},
      {"adaptive_chain {nodes: 1, goal: 0}", "'goal' must lie in (0, 1)"},
      {"adaptive_chain {nodes: 1, goal: 1}", "'goal' must lie in (0, 1)"},
      {"adaptive_chain {nodes: 1, goal: 0.5, step: 0}", "'step' must lie in"},
      {"adaptive_chain {nodes: 1, goal: 0.5, step: 1.001}", "'step' must lie"},
      {"adaptive_chain {nodes: 1, step: 0.1}", "'step' belongs to goal"},
      {"adaptive_chain {nodes: 1, goal: 0.5, on_low: drop}",
       "'on_low' must be keep_and_stop where there is a goal"},
      {"adaptive_chain {nodes: 1, goal: 0.5, on_low: stop_before}",
       "'on_low' must be keep_and_stop where there is a goal"},
      {"expansion {branching: [2, 0]}", "branching"},
      {Auto("memory: 0"), "memory"},
      {Auto("trial: 0"), "trial"},
      {"auto {acceptance: [0.5], nodes: 2, draft_ms: 0}", "target_ms"},
      {"auto {acceptance: [0.7, 0.7], nodes: 2, target_ms: {1: 1, 3: 2}}",
       "acceptance"},
  };
  for (const auto& [spec, named] : kCases) {
    const absl::Status status = Build(spec);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << spec;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(named));
  }
}

TEST(PolicyKeys, AreListedAsTheyAreRead) {
  for (const PolicyRow& row : PolicyCatalogue()) {
    SCOPED_TRACE(row.name);
    ExpectListed(row.keys, row.examples.front(), [&](ParamsReader& in) {
      if (row.plan != nullptr)
        row.plan(in).IgnoreError();
      else
        row.build(in).IgnoreError();
    });
  }
}

// A key's old name, in every policy that had it.
TEST(PolicyKeys, OldNamesNameTheNewOnes) {
  int renamed = 0;
  for (const PolicyRow& row : PolicyCatalogue())
    for (const RenamedKey& key : row.renamed) {
      const absl::Status status =
          Build(absl::StrCat(row.name, " {", key.old_name, ": 1}"));
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(
          std::string(status.message()),
          testing::HasSubstr(absl::StrCat("the key '", key.old_name,
                                          "' is now called '", key.name, "'")));
      std::vector<std::string> keys;
      for (const KeyRow& known : row.keys) keys.push_back(known.name);
      EXPECT_THAT(keys, testing::Contains(std::string(key.name)));
      EXPECT_THAT(keys,
                  testing::Not(testing::Contains(std::string(key.old_name))));
      ++renamed;
    }
  EXPECT_EQ(renamed, 17);
}

// The keys of its size are those that its row names.
TEST(PolicyKeys, RowsNameTheirSizes) {
  for (const PolicyRow& row : PolicyCatalogue()) {
    SCOPED_TRACE(row.name);
    std::set<std::string> keys;
    for (const KeyRow& known : row.keys) keys.insert(known.name);
    EXPECT_EQ(row.sizes.nodes, keys.count("nodes") > 0);
    EXPECT_TRUE(!row.sizes.levels || keys.count("levels") > 0);
    EXPECT_TRUE(!row.sizes.width || keys.count("width") > 0);
    EXPECT_EQ(row.takes_costs, keys.count("target_ms") == 1);
    EXPECT_EQ(row.takes_costs,
              keys.count(row.of_method ? "alone" : "acceptance") == 1);
  }
}

TEST(PolicyKeys, ANumberOfNodesMakesAShape) {
  const auto nodes_of = [](const std::string& spec) {
    const PolicyTraits traits = PolicyOf(spec)->traits();
    return std::pair(traits.nodes, traits.levels);
  };
  EXPECT_EQ(nodes_of("expansion {nodes: 0}"), std::pair(0, 0));
  EXPECT_EQ(nodes_of("expansion {nodes: 1}"), std::pair(1, 1));
  EXPECT_EQ(nodes_of("expansion {nodes: 2}"), std::pair(2, 1));
  EXPECT_EQ(nodes_of("expansion {nodes: 8}"), std::pair(8, 4));
  EXPECT_EQ(nodes_of("expansion {nodes: 9}"), std::pair(8, 4));
  EXPECT_EQ(nodes_of("sequences {nodes: 8}"), std::pair(8, 4));
  EXPECT_EQ(nodes_of("sequences {nodes: 8, width: 3}"), std::pair(6, 2));
  EXPECT_EQ(nodes_of("sequences {nodes: 1}"), std::pair(1, 1));
  for (const char* spec :
       {"expansion {}", "expansion {nodes: 2, branching: [2]}", "sequences {}",
        "sequences {nodes: 2, levels: 1}"})
    EXPECT_THAT(std::string(Build(spec).message()),
                testing::HasSubstr("expected one of"))
        << spec;
}

TEST(PolicyKeys, StaticTakesExactlyOneOfItsThreeForms) {
  const std::string path = testing::TempDir() + "policy_keys_paths.json";
  std::ofstream(path) << "[[0], [0, 0]]";
  const std::string forms[] = {"paths: [[0], [0, 0]]", "file: " + path,
                               "accuracies: [[0.5]], nodes: 1"};
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

// A level that costs a hundred passes is not drafted.
TEST(PolicyKeys, LevelsThatCostTooMuchAreNotDrafted) {
  const std::string target =
      "sequoia {acceptance: [0.5], nodes: 1, target_ms: {1: 1, 2: 1}";
  EXPECT_THAT(ParentsOf(target + "}"), ElementsAre(-1, 0));
  EXPECT_THAT(ParentsOf(target + ", draft_ms: 100}"), ElementsAre(-1));
}

TEST(PolicyKeys, AShapeThatDependsOnTheDrawsCannotBePlanned) {
  const std::string spec = "best_first {most_draws: 1}";
  const auto plan = PlanShape(ParseYaml(Section(spec), spec).value());
  EXPECT_THAT(std::string(plan.status().message()),
              testing::HasSubstr("depends on what is drawn"));
}

}  // namespace
}  // namespace banyan
