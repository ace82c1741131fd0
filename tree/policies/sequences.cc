#include "tree/policies/sequences.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "tree/draft_tree.h"
#include "tree/policies/bounds.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

PolicyTraits Sequences::traits() const {
  return {.draw_kinds = {DrawKind::kIndependent},
          .chain = width_ == 1,
          .fixed_counts = true,
          .nodes = width_ * levels_,
          .levels = levels_};
}

std::vector<Expansion> Sequences::Next(const TrunkTree& tree) const {
  std::vector<Expansion> next;
  for (int node = 0; node < tree.size(); ++node) {
    if (!tree.open(node) || !tree.draws(node).empty()) continue;
    if (tree.node(node).depth >= levels_) continue;
    const int draws = node == 0 ? width_ : tree.multiplicity(node);
    next.push_back({.node = node, .draws = draws});
  }
  return next;
}

namespace {

struct SequencesOptions {
  int width = 2;
  int levels = 1;
  int nodes = 0;
};

BuiltPolicy BuildSequences(ParamsReader& in, SequencesOptions options) {
  auto& [width, levels, nodes] = options;
  in.Ensure(width >= 1, "width", "must be at least 1");
  in.Ensure(levels >= 0, "levels", "must not be negative");
  in.Ensure(nodes >= 0, "nodes", "must not be negative");
  BANYAN_RETURN_IF_ERROR(in.Finish());
  const bool has_nodes = in.Has("nodes");
  if (in.Has("levels") == has_nodes)
    return in.section().Error(in.what() + ": expected one of levels and nodes");
  if (has_nodes) {
    width = std::clamp(nodes, 1, width);
    levels = nodes / width;
  }
  EnsureDraws(in, has_nodes ? "nodes" : "width",
              static_cast<double>(width) * levels);
  return std::make_unique<Sequences>(width, levels);
}

}  // namespace

PolicyRow SequencesRow() {
  Keys<SequencesOptions> keys;
  keys.Optional("width", &SequencesOptions::width, "The chains.");
  keys.Optional("levels", &SequencesOptions::levels,
                "The tokens of each chain.");
  keys.Optional(
      "nodes", &SequencesOptions::nodes,
      "In the place of `levels`: the tokens of all chains, to which each adds "
      "`nodes` / `width`, rounded down.");
  return {.name = "sequences",
          .sentence = "Several independent chains, merged where they agree.",
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildSequences),
          .sizes = {.nodes = true, .width = true},
          .instead_of_nodes = {"levels"},
          .only_draws = DrawKind::kIndependent,
          .renamed = {{"count", "width"}, {"gamma", "levels"}},
          .examples = {"{width: 1, levels: 2}", "{width: 2, levels: 2}"}};
}

}  // namespace banyan
