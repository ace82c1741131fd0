#include "tree/policies/sequences.h"

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

PolicyTraits Sequences::traits() const {
  return {.draw_kinds = {DrawKind::kIndependent},
          .chain = count_ == 1,
          .fixed_counts = true,
          .nodes = count_ * gamma_,
          .levels = gamma_};
}

std::vector<Expansion> Sequences::Next(const TrunkTree& tree) const {
  std::vector<Expansion> next;
  for (int node = 0; node < tree.size(); ++node) {
    if (!tree.open(node) || !tree.draws(node).empty()) continue;
    if (tree.node(node).depth >= gamma_) continue;
    const int draws = node == 0 ? count_ : tree.multiplicity(node);
    next.push_back({.node = node, .draws = draws});
  }
  return next;
}

namespace {

absl::StatusOr<std::unique_ptr<TreePolicy>> Build(ParamsReader& in) {
  int count = 1;
  int gamma = 1;
  in.Required("count", count, "The chains.");
  in.Ensure(count >= 1, "count", "must be at least 1");
  in.Required("gamma", gamma, "The tokens of each.");
  in.Ensure(gamma >= 0, "gamma", "must not be negative");
  EnsureDraws(in, "count", static_cast<double>(count) * gamma);
  return std::make_unique<Sequences>(count, gamma);
}

}  // namespace

PolicyRow SequencesRow() {
  return {.name = "sequences",
          .sentence = "Several independent chains, merged where they agree.",
          .build = Build,
          .examples = {"{count: 1, gamma: 2}", "{count: 2, gamma: 2}"}};
}

}  // namespace banyan
