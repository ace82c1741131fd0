// Claim. Lossless on a chain of tokens drawn from the draft distribution. Of
// all schemes that judge one drawn token at a time it accepts most: sum over x
// of min(p(x), q(x)).
//
// Rule (Leviathan et al. 2022, Algorithm 1; Chen et al. 2023, Algorithm 2).
// Accept x, drawn from q, with probability min(1, p(x) / q(x)). At the first
// refusal emit a draw from norm(pos(p - q)) and stop; after the last accepted
// token emit a draw from p.
//
// Why. x is emitted by acceptance with q(x) min(1, p(x)/q(x)) = min(p, q)(x)
// and by correction with (1 - sum min(p, q)) pos(p - q)(x) / sum pos(p - q);
// both factors in front are equal, so the sum is min(p, q)(x) + pos(p - q)(x) =
// p(x).
#include <memory>

#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/rows.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

class Leviathan : public Verifier {
 public:
  VerifierTraits traits() const override {
    return {.draw_kinds = {DrawKind::kIndependent},
            .chain = true,
            .one_list = true};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    return VerifyRounds(tree, target, chance);
  }
};

}  // namespace

VerifierRow LeviathanRow() {
  return {.name = "leviathan",
          .sentence = "Speculative sampling on a chain, token by token.",
          .build = [](ParamsReader&) { return std::make_unique<Leviathan>(); }};
}

}  // namespace banyan
