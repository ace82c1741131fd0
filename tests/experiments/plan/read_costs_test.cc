// The one format of costs: what it holds, what it refuses, and which table it
// gives whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/method_spec.h"

namespace banyan {
namespace {

using testing::AllOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kCosts[] = R"yaml(machine: "a, b: 2 threads"
build: abc
source: a run
date: 2026-11-28
passes:
  - target: large
    weights: bf16
    context: 128
    ms: {1: 9.8, 16: 25}
  - context: 0
    ms: {1: 1}
    machine: another
levels:
  - target: large
    weights: bf16
    temperature: 0
    draws: deterministic
    ms: {"or_else(sam, eagle)": 0.25, weak: 1.5}
acceptance:
  - target: large
    weights: bf16
    temperature: 0
    drafters: [weak]
    kinds: [small_model]
    draws: [deterministic]
    rounds: 100
    counts:
      - {depth: 1, judged: [90, 40, 20], accepted: [50, 20, 10]}
      - {depth: 2, judged: [50], accepted: [25]}
  - target: large
    temperature: 0
    drafters: [weak, ngram]
    kinds: [small_model, ngram]
    draws: [deterministic, deterministic]
    rounds: 30
    counts:
      - {drafter: 0, depth: 1, judged: [30], accepted: [10]}
      - {drafter: 1, depth: 1, judged: [15], accepted: [2]}
      - {drafter: 1, depth: 1, also: [0], judged: [4], accepted: [3]}
heads:
  - target: large
    temperature: 1
    drafter: my-heads
    kind: medusa
    positions: [20, 19]
    hits:
      - [10, 5]
      - [4]
chains:
  - target: large
    drafter: weak
    temperature: 0
    length: 3
    speed: 1.250
)yaml";

absl::StatusOr<Costs> Read(const std::string& text) {
  const auto file = ParseYaml(text, "costs.yaml");
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return file.status();
  return ReadCosts(*file);
}

Costs Whole() { return Read(kCosts).value(); }

TEST(Costs, AreReadWithWhereTheyComeFrom) {
  const Costs costs = Whole();
  ASSERT_EQ(costs.passes.size(), 2U);
  EXPECT_EQ(costs.passes[0].setting.target, "large");
  EXPECT_EQ(costs.passes[0].context, 128);
  EXPECT_EQ(costs.passes[0].ms.at(16), 25);
  EXPECT_EQ(costs.passes[0].from.machine, "a, b: 2 threads");
  EXPECT_EQ(costs.passes[1].from.machine, "another");
  EXPECT_EQ(costs.passes[1].from.date, "2026-11-28");
  ASSERT_EQ(costs.levels.size(), 2U);
  EXPECT_EQ(costs.levels[0].drafter, "or_else(sam, eagle)");
  EXPECT_EQ(costs.levels[1].ms, 1.5);
  ASSERT_EQ(costs.acceptance.size(), 2U);
  const AcceptanceTable& alone = costs.acceptance[0];
  EXPECT_DOUBLE_EQ(alone.Drafted(), .9);
  EXPECT_THAT(alone.ByDepth(), ElementsAre(DoubleEq(5. / 9), DoubleEq(.5)));
  // Of all draws of rank 1 that were judged 75 of 140 were accepted, of rank 2
  // 20 of 40 where rank 1 was refused.
  EXPECT_THAT(alone.ByRank(),
              ElementsAre(DoubleEq(75. / 140), DoubleEq(65. / 140 * .5),
                          DoubleEq(65. / 140 * .5 * .5)));
  const AcceptanceTable& merged = costs.acceptance[1];
  EXPECT_EQ(merged.drafters[1].kind, "ngram");
  EXPECT_THAT(merged.counts[1].also, IsEmpty());
  EXPECT_THAT(merged.counts[2].also, ElementsAre(0));
  ASSERT_EQ(costs.heads.size(), 1U);
  EXPECT_THAT(
      costs.heads[0].Accuracies(),
      ElementsAre(ElementsAre(.5, .25), ElementsAre(DoubleEq(4. / 19))));
  EXPECT_EQ(costs.chains.at(0).length, 3);
}

TEST(Costs, AreWrittenAsTheyAreRead) {
  const Costs costs = Whole();
  EXPECT_EQ(ToYaml(costs, costs.passes[0].from), kCosts);
}

TEST(Costs, OfSeveralFilesAreOne) {
  const std::string item =
      absl::StrReplaceAll(absl::StrCat("\n", kCosts), {{"\n", "\n    "}});
  const auto twice = Read("- passes: [{ms: {1: 2}}]\n-" + item);
  ASSERT_TRUE(twice.ok()) << twice.status();
  EXPECT_EQ(twice->passes.size(), 3U);
  EXPECT_THAT(
      std::string(
          Read(absl::StrCat("-", item, "\n-", item)).status().message()),
      HasSubstr("a second table of weak (deterministic) on large at "
                "temperature 0"));
}

TEST(Costs, ThatCannotBeAreRefusedAtTheirPlace) {
  const struct {
    std::string from;
    std::string to;
    std::string told;
  } kCases[] = {
      {"build: abc", "built: abc", "costs.yaml:2:1: costs: unknown key"},
      {"16: 25", "16: -25", "costs.yaml:9:22: ms is -25 at 16 tokens"},
      {"1: 9.8", "1: 1e-9", "expected milliseconds a pass"},
      {"weak: 1.5}", "weak: -1}", "expected milliseconds a level, from 0"},
      {"context: 128", "context: -1", "must not be negative"},
      {"accepted: [50, 20, 10]}", "accepted: [50, 20]}",
       "expected as many counts as in `judged`"},
      {"accepted: [50, 20, 10]}", "accepted: [91, 20, 10]}",
       "none above the one there"},
      {"accepted: [50, 20, 10]}", "accepted: [-1, 20, 10]}", "counts from 0"},
      {"judged: [90, 40, 20]", "judged: [90, 41, 20]",
       "41 draws of rank 2 were judged, but only 40 of the rank before"},
      {"rounds: 100", "rounds: 80",
       "expected a first count at depth 1 from 1 to `rounds` (80)"},
      {"drafters: [weak, ngram]", "drafters: [weak, ngram, copy]",
       "expected as many draws and kinds as there are drafters (3)"},
      {"draws: [deterministic]", "draws: [odd]",
       "expected independent, without_replacement or deterministic"},
      {"also: [0]", "also: [2]", "must number other drafters"},
      {"also: [0]", "also: [1]", "must number other drafters"},
      {"also: [0]", "also: [0, 0]", "must number other drafters, each once"},
      {", also: [0]", "", "two rows of drafter 1 at depth 1"},
      {"weights: bf16\n    context", "weights: bf61\n    context",
       "must be f32, bf16, q8 or q4"},
      {"drafter: 1, depth: 1, also", "drafter: 2, depth: 1, also",
       "must number one of the 2 drafters, from 0"},
      {"positions: [20, 19]", "positions: [20]",
       "expected a number for each list of `hits`"},
      {"positions: [20, 19]", "positions: [14, 19]", "no less than their sum"},
      {"length: 3", "length: 0", "must lie between 1 and"},
  };
  for (const auto& [from, to, told] : kCases) {
    const std::string text = absl::StrReplaceAll(kCosts, {{from, to}});
    ASSERT_NE(text, kCosts) << from;
    EXPECT_THAT(std::string(Read(text).status().message()),
                AllOf(HasSubstr("costs.yaml:"), HasSubstr(told)));
  }
  EXPECT_THAT(std::string(Read("3").status().message()),
              HasSubstr("expected the tables that `banyan measure` writes"));
}

TEST(Costs, AreToldFromNumbersAndSections) {
  const auto is = [](const std::string& text) {
    return IsCosts(ParseYaml(text, "value").value());
  };
  EXPECT_TRUE(is(kCosts));
  EXPECT_TRUE(is("[{passes: [{ms: {1: 2}}]}]"));
  EXPECT_FALSE(is("{1: 2, 3: 4}"));
  EXPECT_FALSE(is("[0.5, 0.2]"));
  EXPECT_FALSE(is("{name: sequoia, levels: 3, acceptance: [0.5]}"));
  EXPECT_FALSE(is("{acceptance: [{passes: [{ms: {1: 2}}]}], nodes: 4}"))
      << "a policy that lists costs";
  EXPECT_FALSE(is("measured"));
}

TEST(Costs, AreFoundInAllThatIsKnown) {
  const Costs costs = Whole();
  const auto told = [&](const CostQuestion& question) {
    return std::string(FindAcceptance(costs, question).status().message());
  };
  EXPECT_EQ(told({.target = "large", .drafter = {.label = "weak"}}), "");
  EXPECT_THAT(told({.drafter = {.label = "ngram"}}),
              HasSubstr("no acceptance of drafter ngram; the tables have weak"))
      << "several drafters say nothing of one";
  EXPECT_THAT(told({.temperature = .5, .drafter = {.label = "weak"}}),
              HasSubstr("no acceptance of temperature 0.5 for drafter weak; "
                        "the tables have 0"));
  EXPECT_THAT(std::string(FindAcceptance({}, {}).status().message()),
              HasSubstr("the costs have no acceptance of a single drafter"));
}

TEST(Costs, GiveTheDrafterItselfBeforeOneOfItsKind) {
  const auto costs = Read(R"yaml(
acceptance:
  - {target: a, temperature: 0, drafters: [one], kinds: [small_model],
     draws: [independent], rounds: 9,
     counts: [{depth: 1, judged: [9], accepted: [1]}]}
  - {target: b, temperature: 1, drafters: [two], kinds: [small_model],
     draws: [independent], rounds: 9,
     counts: [{depth: 1, judged: [9], accepted: [2]}]}
  - {target: b, temperature: 0.6, drafters: [two], kinds: [small_model],
     draws: [deterministic], rounds: 9,
     counts: [{depth: 1, judged: [9], accepted: [3]}]}
levels:
  - ms: {one: 1, small_model: 2, "hybrid(sam, eagle)": 3, hybrid: 4, other: 5}
)yaml");
  ASSERT_TRUE(costs.ok()) << costs.status();
  const auto accepted = [&](const CostQuestion& question) {
    const AcceptanceTable* table = BestAcceptance(*costs, question);
    return table == nullptr ? -1 : table->counts[0].accepted[0];
  };
  const CountedDrafter one = {.label = "one", .kind = "small_model"};
  const CountedDrafter two = {.label = "two", .kind = "small_model"};
  const CountedDrafter own = {.label = "mine", .kind = "small_model"};
  EXPECT_EQ(accepted({.target = "b", .temperature = 1, .drafter = one}), 1);
  EXPECT_EQ(accepted({.target = "b", .temperature = 1, .drafter = two}), 2);
  EXPECT_EQ(accepted({.target = "b", .temperature = .7, .drafter = two}), 3);
  EXPECT_EQ(accepted({.target = "a", .temperature = 1, .drafter = own}), 1);
  EXPECT_EQ(accepted({.target = "b", .temperature = 1, .drafter = own}), 2);
  EXPECT_EQ(accepted({.drafter = {.label = "x", .kind = "eagle"}}), -1);
  const auto level = [&](const std::string& label, const std::string& kind) {
    const LevelCosts* found =
        BestLevel(*costs, {.drafter = {.label = label, .kind = kind}});
    return found == nullptr ? -1 : found->ms;
  };
  EXPECT_EQ(level("one", "small_model"), 1);
  EXPECT_EQ(level("mine", "small_model"), 2);
  EXPECT_EQ(level("hybrid", "hybrid(sam, eagle)"), 4) << "its label first";
  EXPECT_EQ(level("h", "hybrid(sam, eagle)"), 3);
  EXPECT_EQ(level("h", "hybrid(copy, eagle)"), 4);
  EXPECT_EQ(level("h", "ngram"), 5);
}

TEST(Costs, SayMoreWhereTheySayTheTarget) {
  const auto costs = Read(R"yaml(
passes:
  - {ms: {1: 1}}
  - {target: a, weights: bf16, ms: {1: 2}}
  - {target: a, weights: bf16, memory: 1GB, ms: {1: 3}}
levels: [{ms: {one: 4}}]
)yaml");
  ASSERT_TRUE(costs.ok()) << costs.status();
  const auto pass = [&](const CostQuestion& question) {
    return BestPasses(*costs, question)->ms.at(1);
  };
  EXPECT_EQ(pass({.target = "b"}), 1);
  EXPECT_EQ(pass({.target = "a"}), 2);
  EXPECT_EQ(pass({.target = "a", .memory = "1GB"}), 3);
  ASSERT_NE(BestLevel(*costs, {}), nullptr) << "of no drafter, any";
  EXPECT_EQ(BestLevel(*costs, {})->ms, 4);
}

constexpr char kSmall[] =
    "{acceptance: [{drafters: [a], kinds: [eagle], draws: [independent], "
    "rounds: 3, counts: [{depth: 1, judged: [3], accepted: [1]}]}], "
    "passes: [{ms: {1: 2, 5: 3}}], levels: [{ms: {eagle: 7}}], "
    "heads: [{drafter: a, kind: eagle, positions: [3], hits: [[1]]}]}";

// Six draws of a sixth each, to four places, would be more than all.
TEST(Costs, GiveSharesOfAtMostOne) {
  PolicySpec spec(*ParseYaml(
      "{name: sequoia, nodes: 4, acceptance: {acceptance: [{drafters: [a], "
      "draws: [independent], rounds: 6, counts: [{depth: 1, judged: [6, 5, 4, "
      "3, 2, 1], accepted: [1, 1, 1, 1, 1, 1]}]}]}}",
      "policy.yaml"));
  std::vector<std::string> notes;
  ASSERT_TRUE(spec.PutStatedCosts({}, {}, notes).ok());
  std::vector<double> shares;
  ASSERT_TRUE(Convert(*spec.section().Find("acceptance"), shares).ok());
  EXPECT_THAT(shares,
              ElementsAre(.1667, .1667, .1667, .1667, .1667, DoubleEq(.1665)));
}

TEST(Costs, GiveAPolicyItsNumbers) {
  const auto put = [](const std::string& policy, const CountedDrafter& drafter,
                      std::vector<std::string>& notes) {
    PolicySpec spec(*ParseYaml(absl::StrReplaceAll(policy, {{"COSTS", kSmall}}),
                               "policy.yaml"));
    const absl::Status status = spec.PutStatedCosts({}, {drafter}, notes);
    EXPECT_TRUE(status.ok()) << status;
    return spec;
  };
  std::vector<std::string> notes;
  const CountedDrafter own = {.label = "a", .kind = "eagle"};
  const PolicySpec all =
      put("{name: sequoia, acceptance: COSTS, target_ms: COSTS, nodes: 4}", own,
          notes);
  EXPECT_THAT(notes, IsEmpty());
  std::vector<double> shares;
  ASSERT_TRUE(Convert(*all.section().Find("acceptance"), shares).ok());
  EXPECT_THAT(shares, ElementsAre(.3333)) << "to four places";
  EXPECT_EQ(all.section().Find("target_ms")->entries().size(), 2U);
  EXPECT_EQ(all.section().Find("draft_ms")->text(), "7");
  const PolicySpec stated =
      put("{name: auto, target_ms: COSTS, draft_ms: 1}", own, notes);
  EXPECT_EQ(stated.section().Find("draft_ms")->text(), "1");
  const PolicySpec heads =
      put("{name: static, accuracies: COSTS, nodes: 1}", own, notes);
  EXPECT_EQ(heads.section().Find("accuracies")->items().size(), 1U);
  EXPECT_THAT(notes, IsEmpty());
  PolicySpec without(*ParseYaml(
      absl::StrReplaceAll("{name: auto, draft_ms: COSTS}", {{"COSTS", kSmall}}),
      "policy.yaml"));
  EXPECT_THAT(
      std::string(
          without.PutStatedCosts({}, {{.label = "x", .kind = "ngram"}}, notes)
              .message()),
      HasSubstr("policy.yaml:1:14: draft_ms: the costs have no level of "
                "drafter x (ngram)"));
  put("{name: sequoia, acceptance: COSTS, nodes: 4}",
      {.label = "b", .kind = "eagle"}, notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr(
                         "acceptance was measured for drafter a, not for b")));
}

}  // namespace
}  // namespace banyan
