// Claim. LOSSY: accepts what the target finds typical, whatever its law.
//
// Rule (Medusa, section 3.3). With H(p) the entropy of the target's law p at a
// node, a child x is acceptable if
//     p(x) > min(epsilon, delta * exp(-H(p))).
// The longest path of acceptable nodes wins; of equally long ones the one with
// the largest sum of log p(x), then the first in the tree. The token after it
// is drawn from the target's law, or its argmax (`next`).
//
// What it costs. The output depends on the tree; the distance from the target's
// law grows with the number of candidates, and a higher temperature raises
// acceptance. `banyan law` gives the distance on a table.
#include "verifiers/typical.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/row_source.h"
#include "core/random/random_source.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

struct TypicalOptions {
  double epsilon = 0.09;  // both as published with Medusa
  double delta = 0.3;
  bool argmax = false;
};

double Entropy(const Distribution& p) {
  double entropy = 0;
  p.ForEach([&](TokenId, double mass) { entropy -= mass * std::log(mass); });
  return entropy;
}

class Typical : public Verifier {
 public:
  explicit Typical(const TypicalOptions& options) : options_(options) {}

  VerifierTraits traits() const override {
    return {.laws = {DraftLaw::kDeterministic, DraftLaw::kWithoutReplacement,
                     DraftLaw::kIndependent},
            .exactness = Exactness::kLossy};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    const int best = LongestPath(tree, target);
    const Distribution& row = target.Row(best);
    return {
        .path = PathTo(tree, best),
        .next = options_.argmax ? row.Argmax() : DrawNext(row, best, chance)};
  }

 private:
  struct Path {
    bool acceptable = false;
    double log_mass = 0;
  };

  // Nodes stand parents first, so one walk scores every acceptable path.
  int LongestPath(const DraftTree& tree, RowSource& target) const {
    std::vector<Path> paths(static_cast<std::size_t>(tree.size()));
    paths[0].acceptable = true;
    int best = 0;
    for (int node = 0; node < tree.size(); ++node) {
      const Path& path = paths[static_cast<std::size_t>(node)];
      if (!path.acceptable) continue;
      if (Better(tree, paths, node, best)) best = node;
      if (tree.node(node).children.empty()) continue;
      const Distribution& row = target.Row(node);
      const double bar =
          std::min(options_.epsilon, options_.delta * std::exp(-Entropy(row)));
      for (int child : tree.node(node).children) {
        const double mass = row.Mass(tree.node(child).token);
        if (tree.node(child).probe() || !(mass > bar)) continue;
        paths[static_cast<std::size_t>(child)] = {
            true, path.log_mass + std::log(mass)};
      }
    }
    return best;
  }

  static bool Better(const DraftTree& tree, const std::vector<Path>& paths,
                     int node, int best) {
    const int gain = tree.node(node).depth - tree.node(best).depth;
    if (gain != 0) return gain > 0;
    return paths[static_cast<std::size_t>(node)].log_mass >
           paths[static_cast<std::size_t>(best)].log_mass;
  }

  TypicalOptions options_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Verifier>> BuildTypical(ParamsReader& in) {
  TypicalOptions options;
  in.Optional("epsilon", options.epsilon);
  in.Ensure(options.epsilon >= 0 && options.epsilon <= 1, "epsilon",
            "must lie in [0, 1]");
  in.Optional("delta", options.delta);
  in.Ensure(options.delta >= 0, "delta", "must not be negative");
  std::string next = "sampled";
  in.Optional("next", next);
  in.Ensure(next == "sampled" || next == "argmax", "next",
            "must be sampled or argmax");
  options.argmax = next == "argmax";
  return std::make_unique<Typical>(options);
}

}  // namespace banyan
