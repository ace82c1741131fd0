// The policies whose shape does not depend on what is drawn.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/token.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/pairing.h"
#include "tests/conformance/toys.h"
#include "tests/support/drafting.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tree_text.h"
#include "tree/draft_tree.h"
#include "tree/optimize/shape.h"
#include "tree/policies/catalogue.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using ::testing::UnorderedElementsAreArray;

constexpr std::uint64_t kSeeds = 40;

// Grows a policy on a toy of five letters, under every draw kind it knows and
// many seeds, and hands each tree to `check` with its drafter.
template <typename F>
void ForEachTree(const std::string& spec, F check) {
  const std::unique_ptr<TreePolicy> policy = PolicyOf(spec);
  for (DrawKind draw_kind : policy->traits().draw_kinds) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      TableDrafter drafter(
          Toy({.vocab_size = 5, .seed = static_cast<int>(seed % 7)}));
      const TrunkTree tree =
          MustDraft(drafter, *policy, {.draw_kind = draw_kind, .seed = seed});
      SCOPED_TRACE(absl::StrCat(spec, ", ", Name(draw_kind), ", seed ", seed,
                                ": ", ToText(tree)));
      check(tree, drafter);
    }
  }
}

int DrawsAt(const TrunkTree& tree, int node) {
  return static_cast<int>(tree.draws(node).size());
}

TEST(Chain, IsALineOfGammaDraws) {
  ForEachTree("chain {nodes: 4}", [](const TrunkTree& tree, auto& drafter) {
    ASSERT_EQ(tree.size(), 5);
    for (int node = 0; node < 4; ++node) {
      EXPECT_EQ(DrawsAt(tree, node), 1);
      EXPECT_EQ(tree.node(node + 1).parent, node);
    }
    EXPECT_EQ(DrawsAt(tree, 4), 0);
    // The last node is drafted and never read.
    EXPECT_EQ(drafter.passes(),
              (std::vector<std::vector<int>>{{0}, {1}, {2}, {3}}));
  });
}

TEST(Sequences, EveryNodeMakesAsManyDrawsAsLedToIt) {
  bool shared = false;
  ForEachTree("sequences {width: 4, levels: 3}",
              [&shared](const TrunkTree& tree, auto& drafter) {
                EXPECT_EQ(DrawsAt(tree, 0), 4);
                for (int node = 1; node < tree.size(); ++node) {
                  const bool last = tree.node(node).depth == 3;
                  EXPECT_EQ(DrawsAt(tree, node),
                            last ? 0 : tree.multiplicity(node));
                  shared = shared || tree.multiplicity(node) > 1;
                }
                EXPECT_EQ(drafter.passes().size(), 3);
              });
  EXPECT_TRUE(shared) << "no two chains ever agreed";
}

// Every node draws as often as its place in the shape has children; the k-th
// draw takes the place of the k-th child. All inner nodes of a level are
// proposed for in one pass.
void ExpectShape(const TrunkTree& tree, const Shape& shape,
                 const TableDrafter& drafter) {
  const std::vector<std::vector<int>> children = Children(shape);
  std::vector<int> place = {0};
  std::vector<std::vector<int>> passes;
  for (int node = 0; node < tree.size(); ++node) {
    if (node > 0) {
      const auto above = static_cast<std::size_t>(tree.node(node).parent);
      const auto& below = children[static_cast<std::size_t>(place[above])];
      ASSERT_LT(tree.rank(node), static_cast<int>(below.size()));
      place.push_back(below[static_cast<std::size_t>(tree.rank(node))]);
    }
    const auto here = static_cast<std::size_t>(place.back());
    EXPECT_EQ(DrawsAt(tree, node), static_cast<int>(children[here].size()))
        << "node " << node;
    if (children[here].empty()) continue;
    const auto depth = static_cast<std::size_t>(tree.node(node).depth);
    if (passes.size() <= depth) passes.resize(depth + 1);
    passes[depth].push_back(node);
  }
  EXPECT_EQ(drafter.passes(), passes);
}

void ExpectPolicyDrafts(const std::string& spec, const Shape& shape) {
  ForEachTree(spec, [&shape](const TrunkTree& tree, auto& drafter) {
    ExpectShape(tree, shape, drafter);
  });
}

TEST(Expansion, AMergedNodeIsExpandedOnceInThePlaceOfItsFirstDraw) {
  ExpectPolicyDrafts("expansion {branching: [3, 2, 2]}",
                     Shape::FromBranching({3, 2, 2}).value());
  bool repeated = false;
  ForEachTree("expansion {branching: [3, 2]}",
              [&repeated](const TrunkTree& tree, auto& /*drafter*/) {
                for (int node = 1; node < tree.size(); ++node) {
                  if (tree.node(node).depth > 1) continue;
                  repeated = repeated || tree.multiplicity(node) > 1;
                  EXPECT_EQ(DrawsAt(tree, node), 2);
                }
              });
  EXPECT_TRUE(repeated) << "no token was ever drawn twice";
}

TEST(Static, GrowsTheStatedPaths) {
  const std::vector<std::vector<int>> paths = {{0},    {1},    {2},      {0, 0},
                                               {0, 1}, {2, 0}, {0, 0, 0}};
  ExpectPolicyDrafts(
      "static {paths: [[0], [1], [2], [0, 0], [0, 1], [2, 0], [0, 0, 0]]}",
      Shape::FromPaths(paths).value());
}

TEST(Sequoia, GrowsTheShapeItPlans) {
  const std::string spec = "sequoia {acceptance: [0.6, 0.2, 0.1], nodes: 9}";
  const absl::StatusOr<ShapePlan> plan =
      PlanShape(ParseYaml(Section(spec), spec).value());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GT(Height(plan->shape), 1);
  ExpectPolicyDrafts(spec, plan->shape);
}

TEST(FixedShapes, StopAtADepthLimitAndBelowEndOfText) {
  const std::unique_ptr<TreePolicy> policy =
      PolicyOf("expansion {branching: [2, 2, 2, 2]}");
  const std::vector<TokenId> ends = {1};
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    TableDrafter drafter(Toy({.vocab_size = 4}));
    const TrunkTree tree = MustDraft(
        drafter, *policy,
        {.limits = {.max_depth = 3, .end_of_text = ends}, .seed = seed});
    for (int node = 0; node < tree.size(); ++node) {
      const bool end = tree.node(node).token == 1 && node > 0;
      const bool leaf = end || tree.node(node).depth == 3;
      EXPECT_EQ(DrawsAt(tree, node), leaf ? 0 : 2) << ToText(tree);
    }
  }
}

struct Promise {
  std::string spec;
  bool chain;
  bool fixed_counts;
  std::vector<DrawKind> draw_kinds = {kDrawKinds.begin(), kDrawKinds.end()};
};

TEST(Policies, OfThisProjectPromiseWhatTheyKeep) {
  const std::vector<Promise> promises = {
      {"chain {nodes: 2}", true, true},
      {"sequences {width: 2, levels: 2}",
       false,
       true,
       {DrawKind::kIndependent}},
      {"expansion {branching: [2, 1]}", false, true},
      {"static {paths: [[0], [1]]}", false, true},
      {"sequoia {acceptance: [0.5, 0.3], nodes: 4}", false, true},
      {"best_first {most_draws: 3}", false, false},
      {"expand_rerank {width: 2, levels: 2, nodes: 3}",
       false,
       true,
       {DrawKind::kDeterministic}},
      {"adaptive_chain {nodes: 2}", true, true},
      {"auto {acceptance: [0.6, 0.2], nodes: 2, target_ms: {1: 1, 3: 1.2}}",
       false, true}};
  for (const Promise& promise : promises) {
    const PolicyTraits traits = PolicyOf(promise.spec)->traits();
    EXPECT_EQ(traits.chain, promise.chain) << promise.spec;
    EXPECT_EQ(traits.fixed_counts, promise.fixed_counts) << promise.spec;
    EXPECT_FALSE(traits.shares_draws) << promise.spec;
    EXPECT_THAT(traits.draw_kinds,
                UnorderedElementsAreArray(promise.draw_kinds))
        << promise.spec;
  }
}

// At most one draw a node, at most one expanded child.
bool IsChain(const TrunkTree& tree) {
  std::vector<int> expanded(static_cast<std::size_t>(tree.size()));
  for (int node = 0; node < tree.size(); ++node) {
    if (DrawsAt(tree, node) > 1) return false;
    if (node == 0 || DrawsAt(tree, node) == 0) continue;
    if (++expanded[static_cast<std::size_t>(tree.node(node).parent)] > 1)
      return false;
  }
  return true;
}

TEST(Policies, DraftAtMostAsManyNodesAsTheySay) {
  int proved = 0;
  for (const PolicyRow& row : PolicyCatalogue())
    for (absl::string_view example : row.examples) {
      const std::string spec = absl::StrCat(row.name, " ", example);
      const PolicyTraits traits = PolicyOf(spec)->traits();
      int most = 0;
      ForEachTree(spec, [&](const TrunkTree& tree, auto&) {
        EXPECT_LE(tree.size() - 1, traits.nodes)
            << "more nodes than traits().nodes says";
        for (int node = 0; node < tree.size(); ++node)
          EXPECT_LE(tree.node(node).depth, traits.levels)
              << "deeper than traits().levels says";
        if (traits.chain) {
          EXPECT_TRUE(IsChain(tree));
        }
        most = std::max(most, tree.size() - 1);
      });
      // These policies may draft less in all of these cases.
      if (row.name != "adaptive_chain" && row.name != "auto") {
        EXPECT_EQ(most, traits.nodes)
            << spec << " never drafts as many nodes as traits().nodes says";
      }
      ++proved;
    }
  EXPECT_GE(proved, 27);
}

TEST(Policies, WithoutMemoryHaveNoState) {
  int found = 0;
  for (const PolicyRow& row : PolicyCatalogue()) {
    const auto policy = PolicyOf(absl::StrCat(row.name, " ", row.examples[0]));
    for (const char* name : {"chain", "sequences", "expansion", "static",
                             "sequoia", "best_first", "expand_rerank"})
      if (row.name == name) {
        EXPECT_TRUE(policy->State().empty()) << row.name;
        ++found;
      }
  }
  EXPECT_EQ(found, 7);
}

}  // namespace
}  // namespace banyan
