// Draws are judged in the order of time, so drafters may take turns: which of
// them draws next, and where, may depend on all that was drawn. The same trees
// judged drafter after drafter are biased, which is what shows that the order
// decides.
//
// A policy here is a random function of the growth so far. It draws at any
// node, whoever made it, and a drafter goes on below another's token.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/draw_math.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/random/enumerating_source.h"
#include "core/random/random_source.h"
#include "tests/conformance/pairing.h"
#include "tests/support/decoding.h"
#include "tests/support/tally.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/catalogue.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

using Text = std::vector<TokenId>;

constexpr int kVocab = 3;
constexpr int kDrafters = 2;
constexpr int kLevels = 2;
constexpr int kMostDraws = 4;
constexpr int kPolicies = 60;

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

// The distribution of `whose` after a text: the target's for kDrafters.
Distribution DistributionOf(std::uint64_t seed, int whose, const Text& text) {
  std::vector<double> masses;
  for (int token = 0; token < kVocab; ++token) {
    std::vector<int> numbers = {whose, token};
    numbers.insert(numbers.end(), text.begin(), text.end());
    masses.push_back(static_cast<double>(1 + Mixed(seed, numbers) % 97));
  }
  return Distribution::Dense(std::move(masses)).Normalized();
}

// A merged tree under growth, nodes in the order in which they were made.
class Growth {
 public:
  Growth(std::uint64_t seed, const Chance& chance)
      : seed_(seed), chance_(chance), nodes_(1) {}

  std::vector<Node> Run() {
    for (int now = 0; now < kMostDraws; ++now) {
      const std::uint64_t choice = Mixed(seed_, history_);
      if (now > 1 && choice % 7 == 0) break;
      const int node = static_cast<int>(choice / 7 % nodes_.size());
      const int drafter = static_cast<int>(choice / 7 / nodes_.size() % 2);
      history_.insert(history_.end(), {node, drafter});
      if (nodes_[static_cast<std::size_t>(node)].depth < kLevels)
        DrawAt(node, drafter, now);
    }
    return InDepthFirstOrder();
  }

 private:
  Node& at(int node) { return nodes_[static_cast<std::size_t>(node)]; }

  DrawKind KindOf(int drafter) const {
    return kDrawKinds[(seed_ + static_cast<std::uint64_t>(drafter)) %
                      kDrawKinds.size()];
  }

  Text TextTo(int node) {
    Text text;
    for (; node > 0; node = at(node).parent)
      text.insert(text.begin(), at(node).token);
    return text;
  }

  DrawList& ListOf(int node, int drafter) {
    std::vector<DrawList>& lists = at(node).lists;
    auto place = lists.begin();
    while (place != lists.end() && place->trunk < drafter) ++place;
    if (place == lists.end() || place->trunk != drafter)
      place = lists.insert(
          place, {.trunk = drafter,
                  .draw_kind = KindOf(drafter),
                  .proposal = {DistributionOf(seed_, drafter, TextTo(node))}});
    return *place;
  }

  void DrawAt(int node, int drafter, int now) {
    DrawList& list = ListOf(node, drafter);
    Distribution q = list.proposal.q;
    if (list.draw_kind != DrawKind::kIndependent)
      for (const Draw& draw : list.draws) q = q.Without(draw.token);
    if (q.empty()) return;
    const bool fixed = list.draw_kind == DrawKind::kDeterministic;
    const TokenId token = fixed ? q.Argmax()
                                : q.TokenAt(chance_.ForTrunk(drafter).Draw(
                                      q.weights(), Purpose::kDraft, node,
                                      static_cast<int>(list.draws.size())));
    history_.push_back(token);
    list.draws.push_back(
        {.token = token,
         .time = now,
         .proposal = fixed ? Distribution::OneHot(kVocab, token) : q});
    const std::size_t draw = list.draws.size() - 1;
    const int child = ChildOf(node, token);
    ListOf(node, drafter).draws[draw].child = child;
  }

  int ChildOf(int node, TokenId token) {
    for (const int child : at(node).children)
      if (at(child).token == token) return child;
    const int child = static_cast<int>(nodes_.size());
    at(node).children.push_back(child);
    nodes_.push_back(
        {.token = token, .parent = node, .depth = at(node).depth + 1});
    return child;
  }

  std::vector<Node> InDepthFirstOrder() {
    std::vector<int> order = {0};
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::vector<int>& children = at(order[i]).children;
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                   children.begin(), children.end());
    }
    std::vector<int> place(nodes_.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      place[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    const auto rename = [&place](int& node) {
      if (node >= 0) node = place[static_cast<std::size_t>(node)];
    };
    std::vector<Node> nodes;
    for (const int old : order) {
      Node node = at(old);
      rename(node.parent);
      for (int& child : node.children) rename(child);
      for (DrawList& list : node.lists)
        for (Draw& draw : list.draws) rename(draw.child);
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  std::uint64_t seed_;
  Chance chance_;
  std::vector<Node> nodes_;
  std::vector<int> history_;
};

// As if every drafter had drawn all at a node before the next one drew.
void NumberListAfterList(std::vector<Node>& nodes) {
  int now = 0;
  for (Node& node : nodes)
    for (DrawList& list : node.lists)
      for (Draw& draw : list.draws) draw.time = now++;
}

class TargetRows : public RowSource {
 public:
  TargetRows(std::uint64_t seed, const DraftTree& tree)
      : seed_(seed), tree_(tree) {}

  const Distribution& Row(int node) override {
    const auto [row, is_new] = rows_.try_emplace(node);
    if (is_new) {
      Text text;
      for (const int on_path : PathTo(tree_, node))
        text.push_back(tree_.node(on_path).token);
      row->second = DistributionOf(seed_, kDrafters, text);
    }
    return row->second;
  }

 private:
  std::uint64_t seed_;
  const DraftTree& tree_;
  std::map<int, Distribution> rows_;
};

using ByText = std::map<Text, double>;

// Adds the distribution of the texts of full length that begin with `text`.
void Complete(std::uint64_t seed, const Text& text, double probability,
              ByText& output) {
  if (static_cast<int>(text.size()) == kLevels + 1) {
    output[text] += probability;
    return;
  }
  const Distribution next = DistributionOf(seed, kDrafters, text);
  for (TokenId token = 0; token < kVocab; ++token) {
    Text longer = text;
    longer.push_back(token);
    Complete(seed, longer, probability * next.Mass(token), output);
  }
}

// The total variation between a round's output, which the target goes on from,
// and the target's.
double Bias(std::uint64_t seed, const Verifier& verifier, bool in_time) {
  constexpr std::int64_t kMostLeaves = 200'000;
  EnumeratingSource source(kMostLeaves);
  ByText output;
  do {
    const Chance chance(source, /*prompt=*/0, /*round=*/0);
    std::vector<Node> nodes = Growth(seed, chance).Run();
    EXPECT_TRUE(CheckInvariants(nodes).ok()) << CheckInvariants(nodes);
    if (!in_time) NumberListAfterList(nodes);
    const DraftTree tree(std::move(nodes));
    EXPECT_TRUE(CheckLawful("", verifier.traits(), tree).ok());
    TargetRows rows(seed, tree);
    const Verdict verdict = verifier.Verify(tree, rows, chance);
    Text emitted;
    for (const int node : verdict.path)
      emitted.push_back(tree.node(node).token);
    emitted.push_back(verdict.next);
    Complete(seed, emitted, source.probability(), output);
  } while (source.Advance());
  EXPECT_FALSE(source.exhausted());
  ByText expected;
  Complete(seed, {}, 1, expected);
  double sum = 0;
  for (const auto& [text, mass] : expected)
    sum += std::abs(output[text] - mass);
  return sum / 2;
}

// Whether a verifier takes whatever such a growth makes.
bool TakesAll(const VerifierTraits& traits) {
  return traits.exactness == Exactness::kLossless && !traits.chain &&
         !traits.one_list && !traits.fixed_counts &&
         traits.draw_kinds.size() == kDrawKinds.size();
}

TEST(OrderOfTime, IsRightWhereDraftersTakeTurns) {
  Tally tally;
  std::map<std::string, std::pair<int, double>> list_after_list;
  for (const VerifierRow& row : VerifierCatalogue()) {
    const std::string name(row.name);
    const auto verifier = VerifierOf(name);
    if (!TakesAll(verifier->traits())) continue;
    auto& [biased, most] = list_after_list[name];
    for (std::uint64_t seed = 1; seed <= kPolicies; ++seed) {
      EXPECT_LE(Bias(seed, *verifier, /*in_time=*/true), kRounding)
          << name << ", policy " << seed;
      tally.Count(CaseResult::kProven);
      const double bias = Bias(seed, *verifier, /*in_time=*/false);
      biased += bias > kCaught ? 1 : 0;
      most = std::max(most, bias);
    }
    std::cout << name << " list after list: " << biased << " of " << kPolicies
              << " biased, by up to " << most << std::endl;
  }
  ExpectCounts(tally, 5 * kPolicies);
  for (const char* ordered :
       {"multi_round", "without_replacement", "traversal"}) {
    EXPECT_GT(list_after_list.at(ordered).first, kPolicies / 4) << ordered;
    EXPECT_GT(list_after_list.at(ordered).second, 0.03) << ordered;
  }
  // These read no draws, only candidates.
  for (const char* any : {"match", "point_mass"})
    EXPECT_EQ(list_after_list.at(any).first, 0) << any;
}

}  // namespace
}  // namespace banyan
