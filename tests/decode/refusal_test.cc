// Components that do not go together are refused, and both are named.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/prob/sampling_rule.h"
#include "decode/method.h"
#include "drafters/drafter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/decorated.h"
#include "tests/support/fake_policy.h"
#include "tests/support/table_drafter.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"

namespace banyan {
namespace {

using ::testing::HasSubstr;

Pairing With(const std::string& verifier,
             const std::vector<std::string>& policies,
             std::optional<DrawKind> draw_kind = std::nullopt) {
  Pairing pairing = {.target = Toy({}), .verifier = verifier};
  for (const std::string& policy : policies)
    pairing.trunks.push_back({policy, Toy({.seed = 1}), draw_kind});
  return pairing;
}

void ExpectRefused(const Pairing& pairing,
                   const std::vector<std::string>& named) {
  const absl::Status status = Build(pairing).status();
  EXPECT_FALSE(status.ok()) << Describe(pairing);
  for (const std::string& name : named)
    EXPECT_THAT(std::string(status.message()), HasSubstr(name))
        << Describe(pairing);
}

std::string NameOf(const std::string& spec) {
  return spec.substr(0, spec.find(' '));
}

TEST(Refusal, ChainVerifiersTakeNoBranches) {
  for (const char* verifier : {"leviathan", "block", "rejection"})
    for (const char* policy :
         {"expansion {branching: [2]}", "expansion {branching: [1, 2]}",
          "sequences {width: 2, levels: 2}", "static {paths: [[0], [1]]}",
          "sequoia {acceptance: [0.5, 0.4], nodes: 4}",
          "best_first {most_draws: 2}"})
      ExpectRefused(With(verifier, {policy}), {verifier, NameOf(policy)});
}

TEST(Refusal, FixedCountsAreAskedOfPoliciesThatDecideByWhatTheyDrew) {
  for (const char* verifier : {"k_seq", "multi_round {order: shuffled}"})
    ExpectRefused(With(verifier, {"best_first {most_draws: 3}"}),
                  {NameOf(verifier), "best_first"});
}

TEST(Refusal, VerifiersThatDivideTakeNothingThatWasRanked) {
  for (const char* verifier : {"leviathan", "block", "k_seq", "rejection"})
    ExpectRefused(
        With(verifier, {"expand_rerank {width: 2, levels: 2, nodes: 3}"}),
        {verifier, "expand_rerank", "small_model"});
}

TEST(Refusal, ALawTheVerifierDoesNotTakeIsNamed) {
  for (const char* verifier : {"leviathan", "block", "k_seq", "rejection"})
    for (DrawKind draw_kind :
         {DrawKind::kWithoutReplacement, DrawKind::kDeterministic})
      ExpectRefused(With(verifier, {"chain {nodes: 2}"}, draw_kind),
                    {verifier, "chain", std::string(Name(draw_kind))});
}

// Each was drawn from what the others had left, in that order.
TEST(Refusal, DrawsWithoutReplacementAreJudgedInNoRandomOrder) {
  for (const char* policy : {"expansion {branching: [2]}", "chain {nodes: 2}"})
    ExpectRefused(With("multi_round {order: shuffled}", {policy},
                       DrawKind::kWithoutReplacement),
                  {"multi_round", NameOf(policy), "without_replacement"});
}

TEST(Refusal, ALawThePolicyDoesNotGrowByIsNamed) {
  ExpectRefused(With("multi_round", {"sequences {width: 2, levels: 1}"},
                     DrawKind::kWithoutReplacement),
                {"multi_round", "sequences", "without_replacement"});
  ExpectRefused(With("without_replacement",
                     {"expand_rerank {width: 2, levels: 1, nodes: 1}"},
                     DrawKind::kIndependent),
                {"without_replacement", "expand_rerank", "independent"});
}

TEST(Refusal, OneListVerifiersTakeOneTrunk) {
  for (const char* verifier : {"leviathan", "block", "k_seq", "rejection"})
    ExpectRefused(With(verifier, {"chain {nodes: 1}", "chain {nodes: 2}"}),
                  {verifier, "2 trunks"});
}

// Of all drafters of a method: by verifiers that take one drafter, or counts
// that are fixed before the first draw, and by methods of other drafters.
TEST(Refusal, PoliciesOfAMethodAreForDraftersThatTakeTurns) {
  const std::string two =
      "cost_aware {nodes: 2, target_ms: {1: 1, 3: 1.1}, draft_ms: [0.1, 0.1], "
      "alone: [[[0.5]], [[0.5]]], together: [0.3, 0.2, 0.2, 0.3]}";
  EXPECT_TRUE(Build(With("multi_round", {two, two})).ok());
  EXPECT_TRUE(Build(With("traversal", {two, two})).ok());
  for (const char* verifier : {"leviathan", "block", "k_seq", "rejection"})
    ExpectRefused(With(verifier, {two, two}), {verifier, "2 trunks"});
  ExpectRefused(With("multi_round {order: shuffled}", {two, two}),
                {"multi_round", "cost_aware"});
  ExpectRefused(With("multi_round", {two}), {"cost_aware", "2 drafters"});
  ExpectRefused(With("multi_round", {two, two, two}),
                {"cost_aware", "2 drafters"});
  ExpectRefused(With("multi_round", {two, "chain {nodes: 1}"}),
                {"cost_aware", "state it as the method's"});
}

TEST(Refusal, GreedyTakesNoOtherTemperatureThanZero) {
  Pairing pairing = With("greedy", {"chain {nodes: 1}"});
  ExpectRefused(pairing, {"greedy", "temperature 1"});
  pairing.sampling.temperature = 0.5;
  ExpectRefused(pairing, {"greedy", "temperature 0.5"});
  pairing.sampling.temperature = 0;
  EXPECT_TRUE(Build(pairing).ok());
  pairing.trunks.clear();
  EXPECT_TRUE(Build(pairing).ok());
}

// A trunk of one draw at the root.
Trunk FakeTrunk(PolicyTraits traits) {
  Trunk trunk =
      TrunkOf(std::make_unique<TableDrafter>(Toy({})), "chain {nodes: 1}");
  trunk.policy_name = "fake policy";
  trunk.policy =
      std::make_unique<FakePolicy>(FakePolicy::Once({}, std::move(traits)));
  return trunk;
}

absl::Status StatusOf(const std::string& verifier, Trunk trunk) {
  const auto target = Toy({});
  std::vector<Trunk> trunks;
  trunks.push_back(std::move(trunk));
  return WithTrunks(*target, verifier, std::move(trunks)).status();
}

TEST(Refusal, TraversalTakesNoSharedDraws) {
  PolicyTraits traits = FakePolicy::AnyLaw();
  EXPECT_TRUE(StatusOf("traversal", FakeTrunk(traits)).ok());
  traits.shares_draws = true;
  const absl::Status status = StatusOf("traversal", FakeTrunk(traits));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("traversal"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("fake policy"));
  EXPECT_TRUE(StatusOf("multi_round", FakeTrunk(traits)).ok());
}

TEST(Refusal, SaysWhatDoesNotGoWithWhatAndWhy) {
  const auto says = [](const absl::Status& status, const std::string& message) {
    EXPECT_EQ(status, absl::FailedPreconditionError(message));
  };
  says(Build(With("leviathan", {"expansion {branching: [2]}"})).status(),
       "verifier leviathan does not go with policy expansion: it takes chains, "
       "and the policy draws several tokens a node");
  says(Build(With("k_seq", {"best_first {most_draws: 3}"})).status(),
       "verifier k_seq does not go with policy best_first: it needs the number "
       "of draws at a node fixed before the first, and the policy decides by "
       "what it drew");
  says(Build(With("block", {"chain {nodes: 1}", "chain {nodes: 2}"})).status(),
       "verifier block does not go with 2 trunks: it takes the draws of one "
       "trunk");
  says(Build(With("greedy", {})).status(),
       "verifier greedy does not go with sampling at temperature 1: it emits "
       "argmax tokens only; set temperature: 0, or use verifier match");
  PolicyTraits traits = FakePolicy::AnyLaw();
  traits.shares_draws = true;
  says(StatusOf("traversal", FakeTrunk(traits)),
       "verifier traversal does not go with policy fake policy: it needs draws "
       "of each "
       "node's own, and the policy shares draws between nodes");
}

class Ranker : public Decorated {
 public:
  Ranker()
      : Decorated({.draw_kinds = {DrawKind::kDeterministic}},
                  std::make_unique<TableDrafter>(Toy({}))) {}
};

TEST(Refusal, ADrafterThatOnlyRanksIsNeverDividedBy) {
  Trunk trunk = TrunkOf(std::make_unique<Ranker>(), "chain {nodes: 1}");
  const absl::Status status = StatusOf("multi_round", std::move(trunk));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("multi_round"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("test drafter"));
  EXPECT_TRUE(StatusOf("multi_round",
                       TrunkOf(std::make_unique<Ranker>(), "chain {nodes: 1}",
                               DrawKind::kDeterministic))
                  .ok());
}

TEST(PreferredLaw, IsTheFirstOfTheVerifiersThatDrafterAndPolicyGive) {
  const auto preferred = [](const std::string& verifier,
                            std::unique_ptr<Drafter> drafter,
                            const std::string& policy) {
    const Method method = {.verifier_name = verifier,
                           .verifier = VerifierOf(verifier),
                           .rule = SamplingRule()};
    return PreferredLaw(TrunkOf(std::move(drafter), policy), method);
  };
  const auto any = [] { return std::make_unique<TableDrafter>(Toy({})); };
  EXPECT_EQ(*preferred("multi_round", any(), "chain {nodes: 1}"),
            DrawKind::kIndependent);
  EXPECT_EQ(*preferred("without_replacement", any(), "chain {nodes: 1}"),
            DrawKind::kWithoutReplacement);
  EXPECT_EQ(*preferred("match", any(), "chain {nodes: 1}"),
            DrawKind::kDeterministic);
  EXPECT_EQ(
      *preferred("multi_round", std::make_unique<Ranker>(), "chain {nodes: 1}"),
      DrawKind::kDeterministic)
      << "the drafter has the last word";
  EXPECT_EQ(*preferred("match", any(), "sequences {width: 2, levels: 1}"),
            DrawKind::kIndependent)
      << "or the policy";
  const Method greedy = {.verifier_name = "multi_round",
                         .verifier = VerifierOf("multi_round"),
                         .rule = SamplingRule({.temperature = 0})};
  EXPECT_EQ(*PreferredLaw(TrunkOf(any(), "chain {nodes: 1}"), greedy),
            DrawKind::kDeterministic)
      << "at temperature 0";
  EXPECT_EQ(
      *PreferredLaw(TrunkOf(any(), "sequences {width: 2, levels: 1}"), greedy),
      DrawKind::kIndependent);
  const absl::Status none =
      preferred("k_seq", std::make_unique<Ranker>(), "chain {nodes: 1}")
          .status();
  for (const char* name : {"k_seq", "chain", "test drafter"})
    EXPECT_THAT(std::string(none.message()), HasSubstr(name));
}

TEST(IsLossless, AsksTheVerifierAndTheTemperature) {
  const auto lossless = [](const std::string& verifier, double temperature) {
    return IsLossless({.verifier = VerifierOf(verifier),
                       .rule = SamplingRule({.temperature = temperature})});
  };
  EXPECT_TRUE(lossless("multi_round", 1));
  EXPECT_TRUE(lossless("multi_round", 0));
  EXPECT_TRUE(lossless("greedy", 0));
  EXPECT_FALSE(lossless("greedy", 1));
  EXPECT_FALSE(lossless("typical", 0));
  EXPECT_FALSE(lossless("lenience", 1));
  EXPECT_FALSE(lossless("bild", 0));
  EXPECT_FALSE(lossless("top_beta", 0));
  EXPECT_FALSE(lossless("blockwise_top_k", 0));
  EXPECT_FALSE(lossless("blockwise_distance", 0));
  EXPECT_TRUE(lossless("rejection", 1));
}

}  // namespace
}  // namespace banyan
