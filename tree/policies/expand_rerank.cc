#include "tree/policies/expand_rerank.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "tree/draft_tree.h"
#include "tree/policies/bounds.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

// The `count` nodes of largest path mass, ties towards the older node.
std::vector<int> Best(const TrunkTree& tree, std::vector<int> nodes,
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
  if (options.depth == 0) return 0;
  const double top_k = options.top_k;
  return top_k + (options.depth - 1) * top_k * top_k;
}

}  // namespace

PolicyTraits ExpandRerank::traits() const {
  return {.draw_kinds = {DrawKind::kDeterministic},
          .chain = options_.top_k == 1,
          .fixed_counts = true,
          .nodes = std::min(options_.total, static_cast<int>(Draws(options_))),
          .levels = options_.depth};
}

std::vector<Expansion> ExpandRerank::Next(const TrunkTree& tree) const {
  // Levels are made one after another: the last node lies on the newest.
  const int level = tree.node(tree.size() - 1).depth;
  if (level >= options_.depth) return {};
  std::vector<int> newest;
  for (int node = 0; node < tree.size(); ++node)
    if (tree.node(node).depth == level && tree.open(node))
      newest.push_back(node);
  std::vector<Expansion> next;
  for (int node : Best(tree, newest, options_.top_k))
    next.push_back({.node = node, .draws = options_.top_k});
  return next;
}

std::vector<int> ExpandRerank::Keep(const TrunkTree& tree) const {
  std::vector<int> drafted;
  for (int node = 1; node < tree.size(); ++node) drafted.push_back(node);
  std::vector<int> keep = Best(tree, drafted, options_.total);
  keep.push_back(0);
  return keep;
}

namespace {

absl::StatusOr<std::unique_ptr<TreePolicy>> Build(ParamsReader& in) {
  ExpandRerankOptions options;
  in.Required("top_k", options.top_k,
              "The nodes that are expanded a level, and draws of each.");
  in.Ensure(options.top_k >= 1, "top_k", "must be at least 1");
  in.Required("depth", options.depth, "The levels.");
  in.Ensure(options.depth >= 0, "depth", "must not be negative");
  in.Required("total", options.total, "The nodes that are kept.");
  in.Ensure(options.total >= 0, "total", "must not be negative");
  EnsureDraws(in, "depth", Draws(options));
  return std::make_unique<ExpandRerank>(options);
}

}  // namespace

PolicyRow ExpandRerankRow() {
  return {.name = "expand_rerank",
          .sentence =
              "EAGLE-2: expand the best nodes level by level, then keep the "
              "best of all.",
          .build = Build,
          .examples = {"{top_k: 2, depth: 2, total: 3}",
                       "{top_k: 2, depth: 2, total: 5}"}};
}

}  // namespace banyan
