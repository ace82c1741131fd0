#include "tree/policies/best_first.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "gtest/gtest.h"
#include "tests/conformance/toys.h"
#include "tests/support/drafting.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

// Two ways to the same product of a few masses.
constexpr double kRounding = 1e-14;

// What a slot is worth, from the proposals and the draws alone. A node that was
// not proposed for yet has an untouched slot; of a deterministic one only an
// upper bound is known.
double PathMass(const TrunkTree& tree, int node) {
  double mass = 1;
  for (int at = node; at > 0; at = tree.node(at).parent)
    mass *= tree.proposal(tree.node(at).parent)->q.Mass(tree.node(at).token);
  return mass;
}

double Left(const TrunkTree& tree, int node) {
  if (tree.proposal(node) == nullptr) return 1;
  const Distribution* proposal = &tree.proposal(node)->q;
  std::set<TokenId> drawn;
  double product = 1;
  double sum = 0;
  for (const Draw& draw : tree.draws(node)) {
    product *= 1 - proposal->Mass(draw.token);
    if (drawn.insert(draw.token).second) sum += proposal->Mass(draw.token);
  }
  if (tree.draw_kind() == DrawKind::kIndependent) return product;
  if (tree.draw_kind() == DrawKind::kWithoutReplacement) return 1 - sum;
  double best = 0;
  for (TokenId token = 0; token < proposal->vocab_size(); ++token)
    if (drawn.count(token) == 0) best = std::max(best, proposal->Mass(token));
  return best;
}

double Value(const TrunkTree& tree, int node, double decay) {
  double value = PathMass(tree, node) * Left(tree, node);
  for (int level = 0; level < tree.node(node).depth; ++level) value *= decay;
  return value;
}

// Passes everything on, and holds every answer against the rule.
class Watched : public TreePolicy {
 public:
  explicit Watched(const BestFirstOptions& options)
      : options_(options), policy_(options) {}

  PolicyTraits traits() const override { return policy_.traits(); }
  std::unique_ptr<TreePolicy> Clone() const override {
    return std::make_unique<Watched>(*this);
  }

  std::vector<Expansion> Next(const TrunkTree& tree) const override {
    std::vector<Expansion> next = policy_.Next(tree);
    const std::vector<int> slots = Slots(tree);
    double best = 0;
    for (int node : slots) best = std::max(best, Worth(tree, node));
    const std::string text = ToText(tree);
    if (next.empty()) {
      EXPECT_TRUE(Draws(tree) == options_.most_draws || slots.empty() ||
                  best < options_.min_value + kRounding)
          << "stopped early: " << text;
      return next;
    }
    EXPECT_LT(Draws(tree), options_.most_draws) << text;
    EXPECT_GE(best, options_.min_value - kRounding) << text;
    if (tree.proposal(next[0].node) == nullptr) {
      ExpectBestUnproposed(tree, slots, next);
    } else {
      EXPECT_EQ(next.size(), 1) << text;
      EXPECT_EQ(next[0].draws, 1) << text;
      EXPECT_NEAR(Worth(tree, next[0].node), best, kRounding)
          << "node " << next[0].node << " is not the best of " << text;
    }
    return next;
  }

 private:
  static int Draws(const TrunkTree& tree) {
    std::size_t draws = 0;
    for (int node = 0; node < tree.size(); ++node)
      draws += tree.draws(node).size();
    return static_cast<int>(draws);
  }

  std::vector<int> Slots(const TrunkTree& tree) const {
    std::vector<int> slots;
    for (int node = 0; node < tree.size(); ++node)
      if (tree.open(node) &&
          (options_.levels == 0 || tree.node(node).depth < options_.levels))
        slots.push_back(node);
    return slots;
  }

  double Worth(const TrunkTree& tree, int node) const {
    return Value(tree, node, options_.decay);
  }

  void ExpectBestUnproposed(const TrunkTree& tree,
                            const std::vector<int>& slots,
                            const std::vector<Expansion>& next) const {
    std::set<int> named;
    std::size_t unproposed = 0;
    double least = 1;  // of those that are named
    for (const Expansion& expansion : next) {
      EXPECT_TRUE(named.empty() || expansion.node > *named.rbegin());
      named.insert(expansion.node);
      least = std::min(least, Worth(tree, expansion.node));
    }
    for (int node : slots) {
      if (tree.proposal(node) != nullptr) continue;
      ++unproposed;
      if (named.contains(node)) continue;
      EXPECT_LE(Worth(tree, node), least + kRounding)
          << "node " << node << " is better: " << ToText(tree);
    }
    const auto beams = static_cast<std::size_t>(options_.beams);
    EXPECT_EQ(named.size(),
              beams == 0 ? unproposed : std::min(beams, unproposed))
        << "one pass for all: " << ToText(tree);
    double known = 0, unknown = 0;
    for (int node : slots)
      (tree.proposal(node) == nullptr ? unknown : known) = std::max(
          tree.proposal(node) == nullptr ? unknown : known, Worth(tree, node));
    EXPECT_GE(unknown, known - kRounding)
        << "a needless pass: " << ToText(tree);
  }

  BestFirstOptions options_;
  BestFirst policy_;
};

TrunkTree Grown(const BestFirstOptions& options, DrawKind draw_kind,
                std::uint64_t seed, bool zeros = false) {
  TableDrafter drafter(Toy({.vocab_size = 4,
                            .seed = static_cast<int>(seed),
                            .sharpness = 2.5,
                            .zeros = zeros}));
  return MustDraft(drafter, Watched(options),
                   {.draw_kind = draw_kind, .seed = seed});
}

int AllDraws(const TrunkTree& tree) {
  std::size_t draws = 0;
  for (int node = 0; node < tree.size(); ++node)
    draws += tree.draws(node).size();
  return static_cast<int>(draws);
}

TEST(BestFirst, DrawsTheBestSlotUntilTheBudgetIsSpent) {
  for (DrawKind draw_kind : kDrawKinds) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      for (bool zeros : {false, true}) {
        SCOPED_TRACE(absl::StrCat(Name(draw_kind), ", seed ", seed));
        const TrunkTree tree =
            Grown({.most_draws = 12}, draw_kind, seed, zeros);
        EXPECT_EQ(AllDraws(tree), 12) << ToText(tree);
      }
    }
  }
}

TEST(BestFirst, ARepeatedDrawCostsAsMuchAsANewOne) {
  bool repeated = false;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const TrunkTree tree =
        Grown({.most_draws = 10}, DrawKind::kIndependent, seed);
    EXPECT_EQ(AllDraws(tree), 10);
    repeated = repeated || tree.size() < 11;
  }
  EXPECT_TRUE(repeated);
}

TEST(BestFirst, SiblingsWithoutReplacementAreDistinct) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const TrunkTree tree =
        Grown({.most_draws = 14}, DrawKind::kWithoutReplacement, seed);
    EXPECT_EQ(tree.size(), 15) << ToText(tree);
  }
}

TEST(BestFirst, StopsAtItsDepthAndAtItsLeastValue) {
  for (DrawKind draw_kind : kDrawKinds) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const TrunkTree flat =
          Grown({.most_draws = 30, .levels = 2}, draw_kind, seed);
      for (int node = 0; node < flat.size(); ++node)
        EXPECT_LE(flat.node(node).depth, 2) << ToText(flat);
      const TrunkTree worthy =
          Grown({.most_draws = 100, .min_value = 0.05}, draw_kind, seed);
      EXPECT_LT(AllDraws(worthy), 100) << "never stopped";
    }
  }
}

TEST(BestFirst, ADecayKeepsTreesShallow) {
  for (DrawKind draw_kind : kDrawKinds) {
    int levels = 0;
    int decayed = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const TrunkTree deep = Grown({.most_draws = 12}, draw_kind, seed);
      const TrunkTree flat =
          Grown({.most_draws = 12, .decay = 0.5}, draw_kind, seed);
      EXPECT_EQ(AllDraws(flat), 12);
      for (int node = 0; node < deep.size(); ++node)
        levels += deep.node(node).depth;
      for (int node = 0; node < flat.size(); ++node)
        decayed += flat.node(node).depth;
    }
    EXPECT_LT(decayed, 0.9 * levels) << Name(draw_kind);
  }
}

TEST(BestFirst, ABoundOnThePassLimitsWhatIsProposedTogether) {
  for (DrawKind draw_kind : kDrawKinds) {
    for (int beams : {1, 2, 3}) {
      std::size_t most = 0;
      for (std::uint64_t seed = 0; seed < 30; ++seed) {
        TableDrafter drafter(Toy({.vocab_size = 4,
                                  .seed = static_cast<int>(seed),
                                  .sharpness = 2.5}));
        const TrunkTree tree = MustDraft(
            drafter, Watched({.most_draws = 14, .decay = 0.9, .beams = beams}),
            {.draw_kind = draw_kind, .seed = seed});
        EXPECT_EQ(AllDraws(tree), 14);
        for (const std::vector<int>& pass : drafter.passes())
          most = std::max(most, pass.size());
      }
      EXPECT_EQ(most, static_cast<std::size_t>(beams)) << Name(draw_kind);
    }
  }
}

TEST(BestFirst, TheFirstSlotIsTheRootsAndALowerNodeComesFirstOnATie) {
  // Uniform over four: without replacement the root's slot is worth 1, then
  // 3/4, 1/2, 1/4 like those of its children.
  TableDrafter drafter([](absl::Span<const TokenId>) {
    return Distribution::Dense(std::vector<double>(4, 0.25));
  });
  const TrunkTree tree =
      MustDraft(drafter, BestFirst({.most_draws = 6}),
                {.draw_kind = DrawKind::kWithoutReplacement});
  EXPECT_EQ(tree.draws(0).size(), 4) << "its fourth slot ties with the others";
  EXPECT_EQ(drafter.passes(),
            (std::vector<std::vector<int>>{{0}, {1, 2, 3, 4}}));
  EXPECT_EQ(tree.draws(1).size(), 1);
  EXPECT_EQ(tree.draws(2).size(), 1);
  EXPECT_EQ(AllDraws(tree), 6);
}

}  // namespace
}  // namespace banyan
