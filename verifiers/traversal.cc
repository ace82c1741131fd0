// Claim. Lossless on a tree of draws, independent or without replacement, and
// never shorter in expectation than judging from the root; on a chain it is
// block verification.
//
// Rule (Weng et al. 2025, on a merged trie). A node v has a value a(v), the
// probability with which its path may be kept, and a distribution M, at first
// p_v; a of the root is 1. Go through the draws (t, q) at v in the order of
// time. Unless t was refused here before, descend into its child with
// a = min(a(v) M(t)/q(t), 1). If the child refuses, and likewise for a dropped
// draw or a later draw of a refused token,
//     r = pos(a M - q),  S = sum r,  a = S / (S + 1 - a),  M = r / S.
// When no draw is left accept with probability a: emit the path to v and a draw
// from the current M. Otherwise v refuses.
//
// Cases. A child is entered once, for the first of its draws, so its own draws
// are judged once. The root has a = 1 throughout and always accepts. S = 0
// gives a = 0 below the root; at the root it is rounding, and M stays. Draws
// shared by cousins are refused by the decoder: their coins are no longer
// independent of the sibling subtrees already judged.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/residual.h"
#include "core/random/random_source.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/rows.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

class Walk {
 public:
  Walk(const DraftTree& tree, RowSource& target, const Chance& chance)
      : tree_(tree), target_(target), chance_(chance) {}

  // True if a path through `node` was accepted; the verdict then holds it.
  bool Visit(int node, double a) {
    if (a == 0) return false;
    Residual residual(target_.Row(node));
    std::vector<TokenId> refused;
    for (const NumberedDraw& numbered : DrawsOf(tree_.node(node))) {
      const Draw& draw = *numbered.draw;
      const bool again = std::find(refused.begin(), refused.end(),
                                   draw.token) != refused.end();
      if (!draw.dropped() && !again) {
        const double ratio =
            a * residual.Mass(draw.token) / draw.proposal.Mass(draw.token);
        if (Visit(draw.child, std::min(ratio, 1.0))) return true;
        refused.push_back(draw.token);
      }
      const double left = residual.Subtract(draw.proposal, a);
      if (node != 0) a = left > 0 ? left / (left + 1 - a) : 0;
      if (a == 0) return false;
    }
    if (!chance_.Accept(a, node)) return false;
    verdict_.path = PathTo(tree_, node);
    verdict_.next = DrawNext(residual, node, chance_);
    return true;
  }

  const Verdict& verdict() const { return verdict_; }

 private:
  const DraftTree& tree_;
  RowSource& target_;
  const Chance& chance_;
  Verdict verdict_;
};

class Traversal : public Verifier {
 public:
  VerifierTraits traits() const override {
    return {.draw_kinds = {DrawKind::kWithoutReplacement,
                           DrawKind::kIndependent, DrawKind::kDeterministic},
            .own_draws = true};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    Walk walk(tree, target, chance);
    walk.Visit(0, 1);
    return walk.verdict();
  }
};

}  // namespace

VerifierRow TraversalRow() {
  return {
      .name = "traversal",
      .sentence =
          "Traversal verification: a tree judged from its leaves to its root.",
      .build = [](ParamsReader&) { return std::make_unique<Traversal>(); }};
}

}  // namespace banyan
