#include "tree/policies/expand_rerank.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/table_model.h"
#include "core/prob/distribution.h"
#include "gtest/gtest.h"
#include "tests/conformance/toys.h"
#include "tests/support/drafting.h"
#include "tests/support/shared_models.h"
#include "tests/support/table_drafter.h"
#include "tests/support/tree_text.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

using Path = std::vector<TokenId>;

// A node of the tree as the contract describes it.
struct Candidate {
  Path path;
  double mass = 1;
};

// Larger masses first; stable, so that the older stays first on a tie.
void SortByMass(std::vector<Candidate>& candidates) {
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.mass > b.mass; });
}

std::vector<Candidate> TopChildren(const TableModel& model, TokenId root,
                                   const Candidate& parent, int top_k) {
  std::vector<TokenId> text = {root};
  text.insert(text.end(), parent.path.begin(), parent.path.end());
  const std::vector<double> masses = Masses(LawAfter(model, text));
  std::vector<Candidate> children;
  for (TokenId token = 0; token < model.vocab_size(); ++token) {
    Candidate child = parent;
    child.path.push_back(token);
    child.mass *= masses[static_cast<std::size_t>(token)];
    if (child.mass > 0) children.push_back(child);
  }
  SortByMass(children);
  if (static_cast<int>(children.size()) > top_k)
    children.resize(static_cast<std::size_t>(top_k));
  return children;
}

// Every node that EAGLE-2 grows, in the order in which they are made.
std::vector<Candidate> Wide(const TableModel& model, TokenId root,
                            const ExpandRerankOptions& options) {
  std::vector<Candidate> all;
  std::vector<Candidate> level = {Candidate()};
  for (int depth = 0; depth < options.levels; ++depth) {
    std::vector<Candidate> next;
    for (const Candidate& node : level)
      for (Candidate& child : TopChildren(model, root, node, options.width))
        next.push_back(child);
    all.insert(all.end(), next.begin(), next.end());
    SortByMass(next);
    if (static_cast<int>(next.size()) > options.width)
      next.resize(static_cast<std::size_t>(options.width));
    level = next;
  }
  return all;
}

std::set<Path> Best(std::vector<Candidate> all, int total) {
  SortByMass(all);
  std::set<Path> kept;
  for (const Candidate& node : all)
    if (static_cast<int>(kept.size()) < total) kept.insert(node.path);
  return kept;
}

std::set<Path> PathsOf(const TrunkTree& tree) {
  std::set<Path> paths;
  for (int node = 1; node < tree.size(); ++node)
    paths.insert(TokensTo(tree, node));
  return paths;
}

// That they hang together, pruning requires.
TEST(ExpandRerank, KeepsTheBestPathsOfAWideTree) {
  const std::vector<ExpandRerankOptions> all = {
      {.width = 1, .levels = 3, .nodes = 3},
      {.width = 2, .levels = 3, .nodes = 4},
      {.width = 3, .levels = 2, .nodes = 7},
      {.width = 3, .levels = 4, .nodes = 9},
      {.width = 2, .levels = 2, .nodes = 99}};
  for (const ExpandRerankOptions& options : all) {
    for (int seed = 0; seed < 40; ++seed) {
      const auto model = Toy({.vocab_size = 5,
                              .seed = seed,
                              .sharpness = 2,
                              .zeros = seed % 2 == 1});
      TableDrafter drafter(model);
      const TrunkTree tree = MustDraft(drafter, ExpandRerank(options),
                                       {.draw_kind = DrawKind::kDeterministic});
      EXPECT_EQ(PathsOf(tree), Best(Wide(*model, 0, options), options.nodes))
          << "width " << options.width << ", levels " << options.levels
          << ", nodes " << options.nodes << ", seed " << seed << ": "
          << ToText(tree);
      EXPECT_EQ(static_cast<int>(drafter.passes().size()), options.levels)
          << "one pass a level";
    }
  }
}

// A node at depth 5 is kept with its four ancestors, or not at all.
TEST(ExpandRerank, DraftsNoLevelThatCannotBeKept) {
  EXPECT_EQ(ExpandRerank({.width = 2, .levels = 6, .nodes = 4}).traits().levels,
            4);
  EXPECT_EQ(ExpandRerank({.width = 2, .levels = 3, .nodes = 4}).traits().levels,
            3);
}

TEST(ExpandRerank, TheOlderNodeStaysOnATie) {
  // Certain after the first token: child and grandchild weigh the same.
  TableDrafter drafter([](absl::Span<const TokenId> text) {
    return text.size() == 1 ? Distribution::Dense({0.5, 0.5})
                            : Distribution::OneHot(2, 0);
  });
  const auto grown = [&drafter](int total) {
    return ToText(MustDraft(
        drafter, ExpandRerank({.width = 2, .levels = 2, .nodes = total}),
        {.draw_kind = DrawKind::kDeterministic, .context = ContextOf({9})}));
  };
  EXPECT_EQ(grown(1), "9(0)");
  EXPECT_EQ(grown(2), "9(0 1)");
  EXPECT_EQ(grown(3), "9(0(0) 1)");
  EXPECT_EQ(grown(4), "9(0(0) 1(0))");
}

}  // namespace
}  // namespace banyan
