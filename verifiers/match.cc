// Claim. Lossless for every kind of candidate, because every emitted token is a
// draw from the target.
//
// Rule. At a node draw y from the target distribution. If a child carries y,
// move to that child; if not, y itself is the token after the path. (Drawing
// again after a miss would be biased: y was already drawn, and it was not among
// the children.)
//
// Acceptance at a node: the target's mass on the children. For one draw from q
// that is sum p q, less than the sum min(p, q) of a ratio test; for ranked
// candidates it is the best there is.
//
// Also known as naive or sampled-target verification.
#include <memory>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "core/round/layout.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/rows.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

class Match : public Verifier {
 public:
  VerifierTraits traits() const override {
    return {
        .draw_kinds = {DrawKind::kDeterministic, DrawKind::kWithoutReplacement,
                       DrawKind::kIndependent},
        .device_judge = JudgeKind::kMatch};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    return Descend(tree, [&](int node, TokenId& next) {
      next = DrawNext(target.Row(node), node, chance);
      return tree.Child(node, next);
    });
  }
};

}  // namespace

VerifierRow MatchRow() {
  return {.name = "match",
          .sentence = "Keep a token if a draw from the target gives it too.",
          .build = [](ParamsReader&) { return std::make_unique<Match>(); }};
}

}  // namespace banyan
