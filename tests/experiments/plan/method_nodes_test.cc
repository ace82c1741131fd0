// `nodes` of an experiment's method: what its policies become.
#include <string>

#include "absl/strings/str_replace.h"
#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/params_edit.h"
#include "experiments/plan/read_method.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/experiments/plan/made_experiment.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;

MethodSpec Sized(const std::string& method) {
  return ReadMethodSpec(
      With(ParseYaml(method, "c").value(),
           {"verifier", {}, ParseYaml("name: match", "v").value()}));
}

// The policies of the trunks, in YAML, each after its drafter's number.
std::string ShapeOf(const std::string& method) {
  const MethodSpec sized = Sized(method);
  EXPECT_TRUE(sized.errors.empty()) << sized.errors.status();
  std::string shape;
  for (const TrunkSpec& trunk : sized.trunks)
    absl::StrAppend(&shape, trunk.drafter, " ", ToYaml(trunk.policy.section()));
  return shape;
}

TEST(MethodNodes, SizeTheOnePolicy) {
  EXPECT_EQ(ShapeOf("{drafters: [{name: a}], policy: {name: chain, nodes: 4}, "
                    "nodes: 9}"),
            "0 name: chain\nnodes: 9\n");
  EXPECT_EQ(ShapeOf("{drafters: [{name: a}], nodes: measured, policy: "
                    "{name: sequoia, acceptance: [0.5]}}"),
            "0 name: sequoia\nacceptance: [0.5]\nnodes: measured\n");
}

TEST(MethodNodes, ReplaceWhatElseStatesTheShape) {
  EXPECT_EQ(ShapeOf("{drafters: [{name: a}], nodes: 8, policy: "
                    "{name: expansion, branching: [3, 2]}}"),
            "0 name: expansion\nnodes: 8\n");
  EXPECT_EQ(ShapeOf("{drafters: [{name: a}], nodes: 8, policy: "
                    "{name: sequences, width: 4, levels: 3}}"),
            "0 name: sequences\nwidth: 4\nnodes: 8\n");
}

TEST(MethodNodes, AreSharedByTheTrunks) {
  const std::string two =
      "{drafters: [{name: a}, {name: b}], policy: {name: chain, nodes: 1}, ";
  const std::string trunks = ShapeOf(two + "nodes: 5}");
  EXPECT_THAT(trunks, HasSubstr("nodes: 3"));
  EXPECT_THAT(trunks, HasSubstr("nodes: 2"));
  // At least one each.
  EXPECT_THAT(ShapeOf(two + "nodes: 1}"), testing::Not(HasSubstr("nodes: 0")));
  EXPECT_THAT(
      ShapeOf("{drafters: [{name: a}, {name: b}], nodes: 6, trunks: "
              "[{drafter: 1, policy: {name: chain, nodes: 9}}, {drafter: 0, "
              "policy: {name: expansion, branching: [2]}}]}"),
      testing::AllOf(HasSubstr("1 name: chain"), HasSubstr("name: expansion"),
                     testing::Not(HasSubstr("branching")),
                     testing::Not(HasSubstr("nodes: 9"))));
}

TEST(MethodNodes, AreRefusedByPoliciesWithoutThem) {
  const auto error = [](const std::string& method) {
    return std::string(Sized(method).errors.status().message());
  };
  EXPECT_THAT(error("{drafters: [{name: a}], nodes: 8, policy: {name: "
                    "best_first, most_draws: 3}}"),
              HasSubstr("policy best_first is not sized by a number of nodes"));
  EXPECT_THAT(error("{nodes: 8}"), HasSubstr("no drafter"));
}

// The made experiment with this axis in the place of its chain's.
absl::StatusOr<Experiment> With(const std::string& axis) {
  return ReadExperimentText(absl::StrReplaceAll(
      kMadeExperiment, {{"  methods.chain.policy.nodes: [2, 4]\n", axis}}));
}

TEST(MethodNodes, OfEveryMethodAreOneAxis) {
  const auto experiment = With("  methods.*.nodes: [2, 5]\n");
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  int sized = 0;
  for (const ExperimentCell& cell : experiment->cells) {
    if (cell.method == "plain") continue;
    EXPECT_EQ(cell.axes.back().first, "methods.*.nodes") << cell.name;
    EXPECT_EQ(PolicyOf(cell).Find("nodes")->text(), cell.axes.back().second);
    ++sized;
  }
  EXPECT_EQ(sized, 8);
  // A part of the path that is set by two axes.
  EXPECT_THAT(std::string(With("  methods.*.nodes: [2, 5]\n"
                               "  methods.chain.nodes: [1, 2]\n")
                              .status()
                              .message()),
              HasSubstr("axis methods.chain.nodes sets methods.chain.nodes, "
                        "and axis methods.*.nodes sets methods.*.nodes"));
}

}  // namespace
}  // namespace banyan
