// Claim. Lossless on a tree whose siblings were drawn without replacement.
//
// Rule (Sequoia, Algorithm 2). As multi-round verification, and after a refusal
// of x also q(x) = 0 and q = norm(q): the next draw was made from what the
// earlier ones left, so it is judged by that.
//
// Here every draw carries the distribution it was drawn from
// (tree/draft_tree.h), with the earlier tokens already taken out. So the rounds
// are those of multi_round and only the preference differs: this verifier asks
// the drafter for draws without replacement. It accepts more than with repeated
// draws, most of all at low temperature, where independent draws are mostly
// duplicates. When the draws cover the drafter's support, cur is then the final
// residual.
#include <memory>

#include "core/base/params.h"
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

class WithoutReplacement : public Verifier {
 public:
  VerifierTraits traits() const override {
    return {.draw_kinds = {DrawKind::kWithoutReplacement,
                           DrawKind::kIndependent, DrawKind::kDeterministic},
            .device_judge = JudgeKind::kRounds};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    return VerifyRounds(tree, target, chance);
  }
};

}  // namespace

VerifierRow WithoutReplacementRow() {
  return {
      .name = "without_replacement",
      .sentence =
          "Multi-round verification of draws without replacement (Sequoia).",
      .build = [](ParamsReader&) {
        return std::make_unique<WithoutReplacement>();
      }};
}

}  // namespace banyan
