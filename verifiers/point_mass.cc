// Claim. Lossless for every kind of candidate: a finished tree may always be
// read as fixed in advance, each candidate drawn from a one-hot distribution.
//
// Rule. At a node, cur = p. For the children in the order of their first draw:
// accept x with probability cur(x); if refused, cur(x) = 0 and renormalise.
// After the last child, draw the token after the path from cur.
//
// This is multi-round verification with q one-hot, and the verifier of EAGLE-2
// and EAGLE-3. Its output distribution and its acceptance, sum over children of
// p(x), are those of match. It needs one coin per candidate instead of one draw
// per node.
#include <memory>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/residual.h"
#include "core/random/random_source.h"
#include "core/round/layout.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/rows.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

class PointMass : public Verifier {
 public:
  VerifierTraits traits() const override {
    return {
        .draw_kinds = {DrawKind::kDeterministic, DrawKind::kWithoutReplacement,
                       DrawKind::kIndependent},
        .device_judge = JudgeKind::kPointMass};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    return Descend(tree, [&](int node, TokenId& next) {
      const Distribution& row = target.Row(node);
      Residual residual(row);
      int number = 0;
      for (int child : tree.node(node).children) {
        const Node& candidate = tree.node(child);
        if (candidate.probe()) continue;
        const double mass = residual.Mass(candidate.token);
        if (chance.Accept(mass, node, number++)) return child;
        const auto q = Distribution::OneHot(row.vocab_size(), candidate.token);
        if (residual.Subtract(q) == 0) return child;  // it had all the mass
      }
      next = DrawNext(residual, node, chance);
      return -1;
    });
  }
};

}  // namespace

VerifierRow PointMassRow() {
  return {
      .name = "point_mass",
      .sentence = "Judge every candidate as drawn from a one-hot distribution.",
      .build = [](ParamsReader&) { return std::make_unique<PointMass>(); }};
}

}  // namespace banyan
