#include "tree/policies/fixed_shape.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/round/plan.h"
#include "tree/draft_tree.h"
#include "tree/optimize/shape.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

FixedShape::FixedShape(const Shape& shape, bool share_draws)
    : children_(Children(shape)),
      levels_(Height(shape)),
      share_draws_(share_draws) {}

PolicyTraits FixedShape::traits() const {
  const bool chain =
      std::all_of(children_.begin(), children_.end(),
                  [](const auto& children) { return children.size() <= 1; });
  return {.draw_kinds = EveryDrawKind(),
          .chain = chain,
          .fixed_counts = true,
          .shares_draws = share_draws_,
          .nodes = static_cast<int>(children_.size()) - 1,
          .levels = levels_};
}

std::vector<Expansion> FixedShape::Next(const TrunkTree& tree) const {
  std::vector<Expansion> next;
  // Nodes stand parents first, so one walk finds every node's place.
  std::vector<std::size_t> place(static_cast<std::size_t>(tree.size()), 0);
  for (int node = 0; node < tree.size(); ++node) {
    const auto at = static_cast<std::size_t>(node);
    if (node > 0) {
      const auto parent = static_cast<std::size_t>(tree.node(node).parent);
      const auto rank = static_cast<std::size_t>(tree.rank(node));
      place[at] = static_cast<std::size_t>(children_[place[parent]][rank]);
    }
    const int draws = static_cast<int>(children_[place[at]].size());
    if (draws > 0 && tree.open(node) && tree.draws(node).empty())
      next.push_back({.node = node, .draws = draws});
  }
  // All of these lie on one level, the newest.
  if (share_draws_)
    for (std::size_t i = 1; i < next.size(); ++i)
      next[i].same_as = next[0].node;
  return next;
}

std::optional<RoundShape> FixedShape::device_shape() const {
  FixedPlaces shape = {share_draws_, {}};
  shape.parents.resize(children_.size(), -1);
  for (std::size_t place = 0; place < children_.size(); ++place)
    for (int child : children_[place])
      shape.parents[static_cast<std::size_t>(child)] = static_cast<int>(place);
  return shape;
}

}  // namespace banyan
