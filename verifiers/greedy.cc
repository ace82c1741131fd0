// Claim. At temperature 0 the output is that of plain decoding, token for
// token. Draws of every draw kind may be judged.
//
// Rule. From the root, move to the child that carries the argmax of the target
// distribution (the lowest id on a tie), as long as there is one. The next
// argmax is the token after the path.
//
// On a chain of heads this is blockwise parallel decoding (Stern et al. 2018,
// arXiv 1811.03115), as it stands before its lossy rules (rows.h): the
// longest prefix of guesses that are the target's argmax, checked in the pass
// that makes the next ones.
//
// Cost. One row a visited node; no randomness, no proposal is read.
//
// At another temperature this would emit argmax tokens where a draw is asked
// for, so the decoder refuses it there.
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

class Greedy : public Verifier {
 public:
  VerifierTraits traits() const override {
    return {
        .draw_kinds = {DrawKind::kDeterministic, DrawKind::kWithoutReplacement,
                       DrawKind::kIndependent},
        .exactness = Exactness::kLosslessAtTemperatureZero,
        .device_judge = JudgeKind::kGreedy};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& /*chance*/) const override {
    return Descend(tree, [&](int node, TokenId& next) {
      next = target.Row(node).Argmax();
      return tree.Child(node, next);
    });
  }
};

}  // namespace

VerifierRow GreedyRow() {
  return {.name = "greedy",
          .sentence = "Keep a token if it is the target's argmax.",
          .build = [](ParamsReader&) { return std::make_unique<Greedy>(); }};
}

}  // namespace banyan
