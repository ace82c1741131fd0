#include "verifiers/longest_path.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tree/derive.h"
#include "verifiers/judging.h"

namespace banyan {
namespace {

struct Path {
  bool passes = false;
  double log_mass = 0;
};

bool Better(const DraftTree& tree, const std::vector<Path>& paths, int node,
            int best) {
  const int gain = tree.node(node).depth - tree.node(best).depth;
  if (gain != 0) return gain > 0;
  return paths[static_cast<std::size_t>(node)].log_mass >
         paths[static_cast<std::size_t>(best)].log_mass;
}

}  // namespace

Standard AtLeast(Bar bar) {
  return [bar = std::move(bar)](const Distribution& law) -> TokenTest {
    return [least = bar(law)](TokenId, double mass) { return mass >= least; };
  };
}

double MassAtPlace(const Distribution& law, int place) {
  std::vector<double> masses;
  law.ForEach([&](TokenId, double mass) { masses.push_back(mass); });
  const std::size_t last =
      std::min(static_cast<std::size_t>(place), masses.size()) - 1;
  std::nth_element(masses.begin(), masses.begin() + last, masses.end(),
                   std::greater<>());
  return masses[last];
}

VerifierTraits LongestPath::traits() const {
  return {.draw_kinds = {DrawKind::kDeterministic,
                         DrawKind::kWithoutReplacement, DrawKind::kIndependent},
          .exactness = Exactness::kLossy};
}

Verdict LongestPath::Verify(const DraftTree& tree, RowSource& target,
                            const Chance& chance) const {
  const int last = Last(tree, target);
  const Distribution& row = target.Row(last);
  return {.path = PathTo(tree, last),
          .next = argmax_ ? row.Argmax() : DrawNext(row, last, chance)};
}

// Nodes stand parents first, so one walk scores every path that passes.
int LongestPath::Last(const DraftTree& tree, RowSource& target) const {
  std::vector<Path> paths(static_cast<std::size_t>(tree.size()));
  paths[0].passes = true;
  int best = 0;
  for (int node = 0; node < tree.size(); ++node) {
    const Path& path = paths[static_cast<std::size_t>(node)];
    if (!path.passes) continue;
    if (Better(tree, paths, node, best)) best = node;
    if (tree.node(node).children.empty()) continue;
    const Distribution& row = target.Row(node);
    const TokenTest passes = standard_(row);
    for (int child : tree.node(node).children) {
      const TokenId token = tree.node(child).token;
      const double mass = row.Mass(token);
      if (tree.node(child).probe() || !(mass > 0 && passes(token, mass)))
        continue;
      paths[static_cast<std::size_t>(child)] = {true,
                                                path.log_mass + std::log(mass)};
    }
  }
  return best;
}

}  // namespace banyan
