#include "tree/policies/best_first.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "tree/draft_tree.h"
#include "tree/policies/bounds.h"
#include "tree/policies/row.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

double SlotValue(const TrunkTree& tree, int node) {
  const Proposal* proposal = tree.proposal(node);
  double value = tree.path_mass(node);
  if (proposal == nullptr) return value;
  if (tree.draw_kind() == DrawKind::kDeterministic)
    return value * tree.candidate_mass(node);
  double left = 1;
  for (const Draw& draw : tree.draws(node)) {
    const double mass = proposal->q.Mass(draw.token);
    left = tree.draw_kind() == DrawKind::kIndependent ? left * (1 - mass)
                                                      : left - mass;
  }
  return value * std::max(left, 0.0);
}

}  // namespace

PolicyTraits BestFirst::traits() const {
  return {.draw_kinds = {DrawKind::kWithoutReplacement, DrawKind::kIndependent,
                         DrawKind::kDeterministic},
          .chain = options_.most_draws <= 1,
          .adapts = options_.most_draws > 1,
          .fixed_counts = options_.most_draws <= 1,
          .nodes = options_.most_draws,
          .levels = options_.levels == 0
                        ? options_.most_draws
                        : std::min(options_.levels, options_.most_draws)};
}

bool BestFirst::MayDraw(const TrunkTree& tree, int node) const {
  return tree.open(node) &&
         (options_.levels == 0 || tree.node(node).depth < options_.levels);
}

double BestFirst::Value(const TrunkTree& tree, int node) const {
  return SlotValue(tree, node) *
         std::pow(options_.decay, tree.node(node).depth);
}

// In the order of their numbers.
std::vector<Expansion> BestFirst::BestOf(const TrunkTree& tree,
                                         std::vector<int> nodes) const {
  const auto beams = static_cast<std::size_t>(options_.beams);
  if (beams > 0 && nodes.size() > beams) {
    std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) {
      return Value(tree, a) > Value(tree, b);
    });
    nodes.resize(beams);
    std::sort(nodes.begin(), nodes.end());
  }
  std::vector<Expansion> all;
  for (const int node : nodes) all.push_back({.node = node});
  return all;
}

std::vector<Expansion> BestFirst::Next(const TrunkTree& tree) const {
  int drawn = 0;
  int best = -1;
  double best_value = 0;
  std::vector<int> unproposed;
  for (int node = 0; node < tree.size(); ++node) {
    drawn += static_cast<int>(tree.draws(node).size());
    if (!MayDraw(tree, node)) continue;
    if (tree.proposal(node) == nullptr) unproposed.push_back(node);
    const double value = Value(tree, node);
    if (value <= best_value || value < options_.min_value) continue;
    best = node;
    best_value = value;
  }
  if (best < 0 || drawn >= options_.most_draws) return {};
  if (tree.proposal(best) == nullptr)
    return BestOf(tree, std::move(unproposed));
  return {{.node = best}};
}

namespace {

BuiltPolicy BuildBestFirst(ParamsReader& in, const BestFirstOptions& options) {
  in.Ensure(options.most_draws >= 0, "most_draws", "must not be negative");
  EnsureDraws(in, "most_draws", options.most_draws);
  in.Ensure(options.levels >= 0, "levels",
            "must not be negative (0 is unlimited)");
  in.Ensure(options.min_value >= 0 && options.min_value <= 1, "min_value",
            "must lie in [0, 1]");
  in.Ensure(options.decay > 0 && options.decay <= 1, "decay",
            "must lie in (0, 1]");
  in.Ensure(options.beams >= 0, "beams", "must not be negative (0 is all)");
  return std::make_unique<BestFirst>(options);
}

}  // namespace

PolicyRow BestFirstRow() {
  Keys<BestFirstOptions> keys;
  keys.Required("most_draws", &BestFirstOptions::most_draws, "The most draws.");
  keys.Optional("levels", &BestFirstOptions::levels,
                "The most levels; 0: no limit.");
  keys.Optional("min_value", &BestFirstOptions::min_value,
                "The least value of a draw that is made.");
  keys.Optional("decay", &BestFirstOptions::decay,
                "A draw is worth this much less with each level (SpecExec).");
  keys.Optional(
      "beams", &BestFirstOptions::beams,
      "The most nodes that are drafted from in one pass of the drafter; "
      "0: all.");
  return {.name = "best_first",
          .sentence =
              "Best first (DySpec; ranked draws: OPT-Tree, SpecExec): each "
              "draw where the drafter deems acceptance likeliest.",
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildBestFirst),
          .sizes = {.levels = true},
          .renamed = {{"budget", "most_draws"}, {"max_depth", "levels"}},
          .examples = {"{most_draws: 2}", "{most_draws: 3, levels: 2}",
                       "{most_draws: 3, decay: 0.9, beams: 1}"}};
}

}  // namespace banyan
