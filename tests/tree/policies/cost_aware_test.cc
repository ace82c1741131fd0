// What cost_aware drafts, against the best that a search finds.
#include "tree/policies/cost_aware.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "tests/conformance/pairing.h"
#include "tests/support/dice.h"
#include "tests/support/grow_together.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/method_policy.h"
#include "tree/policies/catalogue.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr int kVocab = 8;

absl::StatusOr<PolicyChoice> Built(const std::string& keys) {
  const auto section = ParseYaml(Section("cost_aware " + keys), "policy");
  Check(section.ok(), section.status().message());
  return BuildPolicy(*section);
}

std::unique_ptr<TreePolicy> MustBuild(const std::string& keys) {
  auto choice = Built(keys);
  Check(choice.ok(), choice.status().message());
  return std::move(choice->policy);
}

// The drafters' masses of their first tokens, by drafter.
using FirstMasses = std::vector<double>;

// Lets a policy draw a tree: drafter d ranks token d first, with this mass.
DraftTree Grown(const TreePolicy& policy, const FirstMasses& masses) {
  return GrowTogether(*policy.of_method(), static_cast<int>(masses.size()),
                      [&](const GrowingTree& /*tree*/, int /*node*/, int d) {
                        std::vector<double> all(kVocab, 1e-6);
                        const auto drafter = static_cast<std::size_t>(d);
                        all[drafter] = masses[drafter];
                        return Distribution::Dense(std::move(all));
                      });
}

int Nodes(const std::string& keys, const FirstMasses& masses) {
  return Grown(*MustBuild(keys), masses).Drafted();
}

TEST(CostAware, DraftsManyNoAndThreeNodes) {
  const std::string alone =
      ", draft_ms: [0], alone: [[[0.37]]], confidence: 0, nodes: 20}";
  EXPECT_EQ(Nodes("{target_ms: {1: 1, 21: 1.0001}" + alone, {0.4}), 6)
      << "until a token's chance is nothing";
  EXPECT_EQ(Nodes("{target_ms: {1: 1, 21: 21}" + alone, {0.4}), 0);
  // One at a time no token is worth its cost, and three are: .37 + .14 + .05
  // for .38.
  EXPECT_EQ(
      Nodes("{target_ms: {1: 1, 2: 1.38, 4: 1.38, 5: 2.5, 21: 20}" + alone,
            {0.4}),
      3);
}

TEST(CostAware, AsksWhoIsWorthHisLevel) {
  const std::string two =
      ", target_ms: {1: 1, 3: 1.05, 9: 9}, nodes: 8, confidence: 0, alone: "
      "[[[0.5]], [[0.5]]], together: [0.1, 0.4, 0.4, 0.1]}";
  const auto trunks = [&](const std::string& draft_ms) {
    const DraftTree tree = Grown(*MustBuild(draft_ms + two), {0.5, 0.5});
    std::vector<int> drew;
    for (const Node& node : tree.nodes())
      for (const DrawList& list : node.lists) drew.push_back(list.trunk);
    std::sort(drew.begin(), drew.end());
    drew.erase(std::unique(drew.begin(), drew.end()), drew.end());
    return drew;
  };
  EXPECT_EQ(trunks("{draft_ms: [0.01, 0.01]"), std::vector<int>({0, 1}));
  EXPECT_EQ(trunks("{draft_ms: [0.01, 0.9]"), std::vector<int>({0}));
  EXPECT_EQ(trunks("{draft_ms: [0.9, 0.01]"), std::vector<int>({1}));
  EXPECT_EQ(trunks("{draft_ms: [0.9, 0.9]"), std::vector<int>());
}

// Rounds of two kinds: the drafter is sure, and right, or neither.
struct Kind {
  double mass;  // and the chance that a token is accepted
};

// Tokens of a round, on average, that drafts a chain of n.
double Expected(const Kind& kind, int nodes) {
  double sum = 1;
  double reach = 1;
  for (int i = 0; i < nodes; ++i) sum += reach *= kind.mass;
  return sum;
}

// The tokens a millisecond of a policy on such rounds, after a while; and the
// most that two lengths reach.
void CompareWithBest(const std::string& curve,
                     const std::function<double(int)>& ms,
                     const std::vector<Kind>& kinds) {
  constexpr int kMost = 16;
  const double mean = (kinds[0].mass + kinds[1].mass) / 2;
  const auto policy = MustBuild(absl::StrCat(
      "{nodes: ", kMost, ", confidence: 1, memory: 200, target_ms: ", curve,
      ", draft_ms: [0], alone: [[[", mean, "]]]}"));
  Dice dice(5);
  double tokens[2] = {};
  double time[2] = {};
  int rounds[2] = {};
  for (int round = 0; round < 3000; ++round) {
    const auto which = static_cast<std::size_t>(dice.Below(2));
    const Kind& kind = kinds[which];
    const DraftTree tree = Grown(*policy, {kind.mass});
    const int nodes = tree.Drafted();
    Verdict verdict;
    for (int node = 1; node <= nodes && dice.Below(1000) < 1000 * kind.mass;
         ++node)
      verdict.path.push_back(node);
    policy->Observe({tree, verdict, 0});
    if (round < 500) continue;
    tokens[which] += Expected(kind, nodes);
    time[which] += ms(nodes);
    ++rounds[which];
  }
  // As if both kinds came equally often.
  const double rate = (tokens[0] / rounds[0] + tokens[1] / rounds[1]) /
                      (time[0] / rounds[0] + time[1] / rounds[1]);
  double best = 0;
  for (int a = 0; a <= kMost; ++a)
    for (int b = 0; b <= kMost; ++b)
      best = std::max(best, (Expected(kinds[0], a) + Expected(kinds[1], b)) /
                                (ms(a) + ms(b)));
  EXPECT_GE(rate, 0.99 * best) << curve;
  EXPECT_LE(rate, 1.000001 * best) << curve;
}

TEST(CostAware, IsNearTheBestLengthsOfTwoKindsOfRounds) {
  for (const std::vector<Kind>& kinds :
       {std::vector<Kind>{{0.9}, {0.05}}, std::vector<Kind>{{0.8}, {0.4}}}) {
    CompareWithBest(
        "{1: 1, 17: 2.6}", [](int n) { return 1 + 0.1 * n; }, kinds);
    CompareWithBest(
        "{1: 1, 17: 5.8}", [](int n) { return 1 + 0.3 * n; }, kinds);
    // In steps of four rows.
    CompareWithBest(
        "{1: 1, 4: 1, 5: 1.4, 8: 1.4, 9: 1.8, 12: 1.8, 13: 2.2, 16: 2.2, 17: "
        "2.6}",
        [](int n) { return 1 + 0.4 * (n / 4); }, kinds);
  }
}

// A drafter that is never right is not asked for ever; once the past has faded
// it is tried again.
TEST(CostAware, DraftsLessWhereNothingIsAccepted) {
  const auto policy = MustBuild(
      "{nodes: 4, memory: 64, target_ms: {1: 1, 5: 1.8}, draft_ms: [0.05], "
      "alone: [[[0.6, 0.2], [0.5]]]}");
  std::vector<int> nodes;
  for (int round = 0; round < 400; ++round) {
    const DraftTree tree = Grown(*policy, {0.6});
    nodes.push_back(tree.Drafted());
    policy->Observe({tree, Verdict(), 0});
  }
  EXPECT_GT(nodes.front(), 0);
  EXPECT_GT(std::count(nodes.begin(), nodes.end(), 0), 200);
  EXPECT_GT(std::count_if(nodes.begin() + 100, nodes.end(),
                          [](int n) { return n > 0; }),
            0);
}

TEST(CostAware, ClonesGoOnAlike) {
  const auto policy = MustBuild(
      "{nodes: 4, target_ms: {1: 1, 5: 1.8}, draft_ms: [0.05], alone: "
      "[[[0.6, 0.2], [0.5]]]}");
  const DraftTree tree = Grown(*policy, {0.6});
  policy->Observe({tree, Verdict(), 0});
  const auto clone = policy->Clone();
  EXPECT_EQ(clone->State(), policy->State());
  policy->Observe({tree, Verdict(), 0});
  EXPECT_NE(clone->State(), policy->State());
}

TEST(CostAware, RefusesWhatItCannotUse) {
  const auto error = [](const std::string& keys) {
    return std::string(Built(keys).status().message());
  };
  const std::string good =
      "target_ms: {1: 1, 9: 2}, draft_ms: [0.1, 0.1], nodes: 8, ";
  const auto expect = [&](const std::string& keys, const std::string& says) {
    EXPECT_NE(error(keys).find(says), std::string::npos) << error(keys);
  };
  expect("{nodes: 4, draft_ms: [1], alone: [[[0.5]]]}", "target_ms");
  expect("{target_ms: {1: 1, 9: 2}, nodes: 4}", "alone");
  expect("{nodes: 0, target_ms: {1: 1}}", "nodes");
  expect("{nodes: 1000000, target_ms: {1: 1}}", "nodes");
  expect(
      "{nodes: 9, target_ms: {1: 1, 9: 2}, draft_ms: [1], alone: "
      "[[[0.5]]]}",
      "10");
  expect("{" + good + "alone: [[[0.5]], [[0.5]]]}", "together");
  expect("{" + good + "alone: [[[0.5]], [[0.5]]], together: [1, 0]}",
         "4 numbers");
  expect("{" + good +
             "alone: [[[0.5]], [[0.5]]], together: [0.5, 0.5, 0.5, "
             "0.5]}",
         "at most 1");
  expect("{" + good + "alone: [[[0.5]], [[1.5]]], together: [1, 0, 0, 0]}",
         "from 0 to 1");
  expect("{" + good +
             "alone: [[[0.5]], [[0.5]]], together: [1, 0, 0, 0], "
             "agree_right: [[1, 0]]}",
         "agree_right");
  expect(
      "{target_ms: {1: 1, 9: 2}, draft_ms: [1], nodes: 8, alone: [[[0.5]], "
      "[[0.5]]], together: [1, 0, 0, 0]}",
      "draft_ms");
}

}  // namespace
}  // namespace banyan
