#include "tree/policies/expand_rerank.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/params.h"
#include "tree/draft_tree.h"
#include "tree/policies/bounds.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

// The `count` nodes of largest path mass, ties towards the older node.
std::vector<int> BestValued(const TrunkTree& tree, std::vector<int> nodes,
                            int count) {
  std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) {
    return tree.path_mass(a) > tree.path_mass(b);
  });
  if (nodes.size() > static_cast<std::size_t>(count))
    nodes.resize(static_cast<std::size_t>(count));
  return nodes;
}

// What is drawn before the best are kept, at most.
double Draws(const ExpandRerankOptions& options) {
  if (options.levels == 0) return 0;
  const double width = options.width;
  return width + (options.levels - 1) * width * width;
}

}  // namespace

PolicyTraits ExpandRerank::traits() const {
  return {.draw_kinds = {DrawKind::kDeterministic},
          .chain = options_.width == 1,
          .adapts = options_.width > 1,
          .fixed_counts = true,
          .nodes = std::min(options_.nodes, static_cast<int>(Draws(options_))),
          .levels = options_.levels};
}

std::vector<Expansion> ExpandRerank::Next(const TrunkTree& tree) const {
  // Levels are made one after another: the last node lies on the newest.
  const int level = tree.node(tree.size() - 1).depth;
  if (level >= options_.levels) return {};
  std::vector<int> newest;
  for (int node = 0; node < tree.size(); ++node)
    if (tree.node(node).depth == level && tree.open(node))
      newest.push_back(node);
  std::vector<Expansion> next;
  for (int node : BestValued(tree, newest, options_.width))
    next.push_back({.node = node, .draws = options_.width});
  return next;
}

std::vector<int> ExpandRerank::Keep(const TrunkTree& tree) const {
  std::vector<int> drafted;
  for (int node = 1; node < tree.size(); ++node) drafted.push_back(node);
  std::vector<int> keep = BestValued(tree, drafted, options_.nodes);
  keep.push_back(0);
  return keep;
}

namespace {

BuiltPolicy BuildExpandRerank(ParamsReader& in,
                              const ExpandRerankOptions& options) {
  in.Ensure(options.width >= 1, "width", "must be at least 1");
  in.Ensure(options.levels >= 0, "levels", "must not be negative");
  in.Ensure(options.nodes >= 0, "nodes", "must not be negative");
  EnsureDraws(in, "levels", Draws(options));
  return std::make_unique<ExpandRerank>(options);
}

}  // namespace

PolicyRow ExpandRerankRow() {
  Keys<ExpandRerankOptions> keys;
  keys.Required("width", &ExpandRerankOptions::width,
                "The nodes that are expanded a level, and draws of each.");
  keys.Required("levels", &ExpandRerankOptions::levels, "The levels.");
  keys.Required("nodes", &ExpandRerankOptions::nodes,
                "The nodes that are kept.");
  return {
      .name = "expand_rerank",
      .sentence =
          "EAGLE-2: expand the best nodes level by level, then keep the "
          "best of all.",
      .keys = keys.Rows(),
      .build = keys.ReadFor(BuildExpandRerank),
      .sizes = {.nodes = true, .levels = true, .width = true},
      .only_draws = DrawKind::kDeterministic,
      .renamed = {{"total", "nodes"}, {"depth", "levels"}, {"top_k", "width"}},
      .examples = {"{width: 2, levels: 2, nodes: 3}",
                   "{width: 2, levels: 2, nodes: 5}"}};
}

}  // namespace banyan
