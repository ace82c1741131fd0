// Policies of a whole method: drafters take turns at one node, go on below each
// other's tokens, and draw what the other one did not draw. Which of them draws
// next, and where, may depend on all that was drawn, since verifiers judge in
// the order of time. Mistakes in that are found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "core/prob/draw_kind.h"
#include "core/random/random_source.h"
#include "decode/decoder.h"
#include "decode/method.h"
#include "experiments/proof/exact_law.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/proof.h"
#include "tests/conformance/toys.h"
#include "tests/support/decoding.h"
#include "tests/support/tally.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/method_policy.h"
#include "tree/tree_policy.h"
#include "tree/verdict.h"
#include "verifiers/catalogue.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

constexpr int kVocab = 5;  // fewer leave one token after a refusal
constexpr int kLevels = 2;
constexpr int kMostDraws = 3;
constexpr int kPolicies = 80;

std::uint64_t Mixed(std::uint64_t seed, absl::Span<const int> numbers) {
  for (const int number : numbers) {
    seed ^= static_cast<std::uint64_t>(number + 3);
    seed *= 0x9e3779b97f4a7c15;
    seed ^= seed >> 29;
    seed *= 0xbf58476d1ce4e5b9;
    seed ^= seed >> 32;
  }
  return seed;
}

// What a policy does next, given the tree.
using Rule = std::function<std::vector<MethodExpansion>(const GrowingTree&)>;

class RulePolicy : public MethodPolicy {
 public:
  explicit RulePolicy(Rule rule) : rule_(std::move(rule)) {}

  PolicyTraits traits() const override {
    return {.draw_kinds = EveryDrawKind(),
            .adapts = true,
            .nodes = kMostDraws,
            .levels = kLevels};
  }
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<RulePolicy>(rule_);
  }
  std::vector<MethodExpansion> Next(const GrowingTree& tree) const override {
    return rule_(tree);
  }

 private:
  Rule rule_;
};

// Everything drawn so far, in the order of time.
std::vector<int> History(const GrowingTree& tree) {
  std::map<int, std::vector<int>> by_time;
  for (int node = 0; node < tree.size(); ++node)
    for (int drafter = 0; drafter < tree.drafters(); ++drafter)
      for (const Draw& draw : tree.draws(node, drafter))
        by_time[draw.time] = {node, drafter, draw.token};
  std::vector<int> history;
  for (const auto& [time, what] : by_time)
    history.insert(history.end(), what.begin(), what.end());
  return history;
}

// A random function of the history: who draws where, what is dropped, and
// whether only new tokens are drawn.
Rule RandomRule(std::uint64_t seed) {
  return [seed](const GrowingTree& tree) -> std::vector<MethodExpansion> {
    const std::vector<int> history = History(tree);
    const std::uint64_t choice = Mixed(seed, history);
    const auto now = static_cast<int>(history.size() / 3);
    if (now == kMostDraws || (now > 1 && choice % 7 == 0)) return {};
    const int pairs = tree.size() * tree.drafters();
    for (int i = 0; i < pairs; ++i) {
      const int pair =
          (static_cast<int>(choice / 7 % static_cast<unsigned>(pairs)) + i) %
          pairs;
      const int node = pair / tree.drafters();
      const int drafter = pair % tree.drafters();
      if (tree.node(node).depth < kLevels && tree.MayDraw(node, drafter))
        return {{.drafter = drafter,
                 .node = node,
                 .keep_at_least = (choice >> 40) % 5 == 0 ? 0.25 : 0,
                 .new_tokens = (choice >> 48) % 3 == 0}};
    }
    return {};
  };
}

const std::shared_ptr<TableModel>& Target() {
  static const auto* const target =
      new std::shared_ptr<TableModel>(Toy({.vocab_size = kVocab, .seed = 1}));
  return *target;
}

// Two or three drafters, whose kinds of draws the seed decides, under one
// policy.
absl::StatusOr<Decoder> DecoderOf(std::unique_ptr<Verifier> verifier,
                                  int drafters, std::uint64_t seed, Rule rule,
                                  const SamplingOptions& sampling = {}) {
  Pairing pairing = {
      .target = Target(), .verifier = "multi_round", .sampling = sampling};
  for (int i = 0; i < drafters; ++i)
    pairing.trunks.push_back(
        {"chain {nodes: 1}",
         Toy({.vocab_size = kVocab, .seed = 2 + i, .zeros = i == 1}),
         kDrawKinds[(seed + static_cast<std::uint64_t>(i)) %
                    kDrawKinds.size()]});
  absl::StatusOr<Decoder> decoder = BuildWith(pairing, std::move(verifier));
  if (!decoder.ok()) return decoder;
  for (Trunk& trunk : decoder->method().trunks)
    trunk.policy = std::make_unique<RulePolicy>(rule);
  return decoder;
}

// The total variation between what comes out and the target, over `rounds`.
double Bias(Decoder& decoder, int rounds = 1) {
  const absl::StatusOr<ExactLaw> output =
      ComputeExactLaw(*Target(), decoder,
                      {.horizon = rounds * (kLevels + 1),
                       .rounds = rounds,
                       .max_branches = 2'000'000});
  Check(output.ok(), output.status().message());
  return output->total_variation;
}

// Judges a tree that was changed after it was drafted.
using Change = std::function<void(std::vector<Node>& nodes)>;

class ChangedTrees : public Verifier {
 public:
  ChangedTrees(std::unique_ptr<Verifier> verifier, Change change)
      : verifier_(std::move(verifier)), change_(std::move(change)) {}

  VerifierTraits traits() const override { return verifier_->traits(); }
  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    std::vector<Node> nodes(tree.nodes().begin(), tree.nodes().end());
    change_(nodes);
    return verifier_->Verify(DraftTree(std::move(nodes)), target, chance);
  }

 private:
  std::unique_ptr<Verifier> verifier_;
  Change change_;
};

// As if every drafter had drawn all at a node before the next one drew.
void NumberListAfterList(std::vector<Node>& nodes) {
  int now = 0;
  for (Node& node : nodes)
    for (DrawList& list : node.lists)
      for (Draw& draw : list.draws) draw.time = now++;
}

// The verifiers that take whatever such a policy grows.
std::vector<std::string> TakersOfAll() {
  std::vector<std::string> takers;
  for (const VerifierRow& row : VerifierCatalogue()) {
    const std::string name(row.name);
    const VerifierTraits traits = VerifierOf(name)->traits();
    if (traits.exactness == Exactness::kLossless && !traits.chain &&
        !traits.one_list && !traits.fixed_counts &&
        traits.draw_kinds.size() == kDrawKinds.size())
      takers.push_back(name);
  }
  return takers;
}

TEST(OrderOfTime, IsRightWhereDraftersTakeTurns) {
  Tally tally;
  std::map<std::string, std::pair<int, double>> list_after_list;
  int below_others = 0;
  for (const std::string& name : TakersOfAll()) {
    auto& [biased, most] = list_after_list[name];
    for (std::uint64_t seed = 1; seed <= kPolicies; ++seed) {
      SCOPED_TRACE(absl::StrCat(name, ", policy ", seed));
      const int drafters = 2 + static_cast<int>(seed % 2);
      Rule counting = [&, rule = RandomRule(seed)](const GrowingTree& tree) {
        for (int node = 1; node < tree.size(); ++node)
          for (int drafter = 0; drafter < tree.drafters(); ++drafter)
            if (tree.own(node, drafter) >= 0 &&
                tree.tree(drafter).multiplicity(tree.own(node, drafter)) == 0 &&
                !tree.draws(node, drafter).empty())
              ++below_others;
        return rule(tree);
      };
      auto decoder = DecoderOf(VerifierOf(name), drafters, seed, counting);
      ASSERT_TRUE(decoder.ok()) << decoder.status();
      EXPECT_LE(Bias(*decoder), kRounding);
      tally.Count(CaseResult::kProven);
      PrintProven(name, "trunks", "taking_turns");
      decoder = DecoderOf(
          std::make_unique<ChangedTrees>(VerifierOf(name), NumberListAfterList),
          drafters, seed, RandomRule(seed));
      ASSERT_TRUE(decoder.ok()) << decoder.status();
      const double bias = Bias(*decoder);
      biased += bias > kCaught ? 1 : 0;
      most = std::max(most, bias);
    }
    std::cout << name << " list after list: " << biased << " of " << kPolicies
              << " biased, by up to " << most << std::endl;
  }
  ExpectCounts(tally, 5 * kPolicies);
  EXPECT_GT(below_others, 0);
  for (const char* ordered :
       {"multi_round", "without_replacement", "traversal"}) {
    EXPECT_GT(list_after_list.at(ordered).first, kPolicies / 5) << ordered;
    EXPECT_GT(list_after_list.at(ordered).second, 0.03) << ordered;
  }
  // These read no draws, only candidates.
  for (const char* any : {"match", "point_mass"})
    EXPECT_EQ(list_after_list.at(any).first, 0) << any;
}

// Two rounds, and argmax alone.
TEST(OrderOfTime, IsRightOverTwoRoundsAndWithoutChance) {
  Tally tally;
  for (const std::string& name : TakersOfAll())
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(absl::StrCat(name, ", policy ", seed));
      Rule few = [rule = RandomRule(seed)](const GrowingTree& tree) {
        return History(tree).size() < 6 ? rule(tree)
                                        : std::vector<MethodExpansion>();
      };
      auto decoder = DecoderOf(VerifierOf(name), 2, seed, few);
      ASSERT_TRUE(decoder.ok()) << decoder.status();
      EXPECT_LE(Bias(*decoder, /*rounds=*/2), kRounding);
      tally.Count(CaseResult::kProven);
    }
  for (std::uint64_t seed = 1; seed <= kPolicies; ++seed) {
    auto decoder = DecoderOf(VerifierOf("greedy"), 2, seed, RandomRule(seed),
                             {.temperature = 0});
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    EXPECT_LE(Bias(*decoder), kRounding) << seed;
    PrintProven("greedy", "trunks", "taking_turns");
    tally.Count(CaseResult::kProven);
  }
  ExpectCounts(tally, 5 * 3 + kPolicies);
}

// The first drafter draws at the root, then the second.
std::vector<MethodExpansion> InTurn(const GrowingTree& tree, bool new_tokens) {
  if (tree.draws(0, 0).empty()) return {{.drafter = 0, .node = 0}};
  if (tree.draws(0, 1).empty() && tree.MayDraw(0, 1))
    return {{.drafter = 1, .node = 0, .new_tokens = new_tokens}};
  return {};
}

// A draw of the second drafter only where the first one's token is the second
// one's favourite.
std::vector<MethodExpansion> IfFavourite(const GrowingTree& tree) {
  if (tree.draws(0, 0).empty()) return {{.drafter = 0, .node = 0}};
  const Proposal* const second = tree.proposal(0, 1);
  if (second == nullptr) return {{.drafter = 1, .node = 0}};
  if (second->q.Argmax() != tree.draws(0, 0).front().token ||
      !tree.draws(0, 1).empty())
    return {};
  return {{.drafter = 1, .node = 0}};
}

TEST(OrderOfTime, LetsADrawDependOnWhatWasDrawn) {
  for (const std::string& name : TakersOfAll())
    for (std::uint64_t seed = 0; seed < kDrawKinds.size(); ++seed) {
      SCOPED_TRACE(absl::StrCat(name, ", kinds ", seed));
      for (const Rule& rule : {Rule(IfFavourite), Rule([](const auto& tree) {
                                 return InTurn(tree, /*new_tokens=*/true);
                               })}) {
        auto decoder = DecoderOf(VerifierOf(name), 2, seed, rule);
        ASSERT_TRUE(decoder.ok()) << decoder.status();
        EXPECT_LE(Bias(*decoder), kRounding);
      }
    }
}

// Of a node's lists, that of a drafter; null: there is none.
DrawList* ListOf(Node& node, int drafter) {
  for (DrawList& list : node.lists)
    if (list.trunk == drafter) return &list;
  return nullptr;
}

// Takes out of a drafter's lists the draws of which `drops` is true.
Change Without(int drafter,
               std::function<bool(Node& node, const Draw& draw)> drops) {
  return [=](std::vector<Node>& nodes) {
    for (Node& node : nodes) {
      DrawList* const list = ListOf(node, drafter);
      if (list == nullptr) continue;
      std::vector<Draw> kept;
      for (const Draw& draw : list->draws)
        if (!drops(node, draw)) kept.push_back(draw);
      list->draws = std::move(kept);
    }
  };
}

bool FirstDrew(Node& node, TokenId token) {
  const DrawList* const first = ListOf(node, 0);
  return first != nullptr &&
         std::any_of(first->draws.begin(), first->draws.end(),
                     [token](const Draw& draw) { return draw.token == token; });
}

TEST(OrderOfTime, FindsWhatBreaksTheRule) {
  const Rule in_turn = [](const auto& tree) { return InTurn(tree, false); };
  const Rule new_tokens = [](const auto& tree) { return InTurn(tree, true); };
  const Rule to_and_fro = [](const GrowingTree& tree) {
    std::vector<MethodExpansion> next;
    const std::size_t drawn = History(tree).size() / 3;
    // Another draw of the first one if the second drew token 0.
    if (drawn < 2)
      next.push_back({.drafter = static_cast<int>(drawn), .node = 0});
    else if (drawn == 2 && tree.draws(0, 1).front().token == 0)
      next.push_back({.drafter = 0, .node = 0});
    return next;
  };
  struct Fault {
    const char* what;
    Rule rule;
    Change change;
  };
  const Fault faults[] = {
      {"dropped because its own mass is small", in_turn,
       Without(1,
               [](Node& node, const Draw& draw) {
                 return ListOf(node, 1)->proposal.q.Mass(draw.token) < 0.3;
               })},
      {"dropped because it agrees with the first", in_turn,
       Without(1,
               [](Node& node, const Draw& draw) {
                 return FirstDrew(node, draw.token);
               })},
      {"the first's dropped by the second's value", in_turn,
       Without(0,
               [](Node& node, const Draw& /*draw*/) {
                 const DrawList* const second = ListOf(node, 1);
                 return second != nullptr && !second->draws.empty() &&
                        second->draws.front().token == 0;
               })},
      {"judged drafter by drafter", to_and_fro, NumberListAfterList},
      {"drawn again until it differs, judged by the whole", new_tokens,
       [](std::vector<Node>& nodes) {
         for (Node& node : nodes)
           if (DrawList* const list = ListOf(node, 1))
             for (Draw& draw : list->draws) draw.proposal = list->proposal.q;
       }},
  };
  for (const Fault& fault : faults)
    for (const char* verifier : {"multi_round", "traversal"}) {
      SCOPED_TRACE(absl::StrCat(fault.what, ", ", verifier));
      // Independent draws of both.
      double bias[2];
      for (const bool changed : {false, true}) {
        std::unique_ptr<Verifier> judge = VerifierOf(verifier);
        if (changed)
          judge =
              std::make_unique<ChangedTrees>(std::move(judge), fault.change);
        auto decoder = DecoderOf(std::move(judge), 2, 0, fault.rule);
        ASSERT_TRUE(decoder.ok()) << decoder.status();
        for (Trunk& trunk : decoder->method().trunks)
          trunk.draw_kind = DrawKind::kIndependent;
        bias[changed ? 1 : 0] = Bias(*decoder);
      }
      EXPECT_LE(bias[0], kRounding);
      EXPECT_GT(bias[1], kCaught);
      std::cout << fault.what << ", " << verifier << ": off by " << bias[1]
                << std::endl;
    }
}

}  // namespace
}  // namespace banyan
