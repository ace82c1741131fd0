// Claim. LOSSY: accepts more readily than a lossless test, within a stated
// bound.
//
// Rule (Leviathan et al. 2022, appendix A.5). With l in (0, 1], the lenience:
//   sampling: test l q instead of q. Accept x with min(1, p(x) / (l q(x)));
//     after a refusal the residual is norm(pos(p / l - q)). No token is emitted
//     with more than p(x) / l. On a tree the rounds go on as in multi_round.
//   argmax: for argmax decoding (the paper's temperature 0). Accept x if
//     p(x) >= l * max p, of several the most probable; otherwise emit the
//     argmax. (The paper prints the inequality reversed.) It compares the
//     masses that the sampling rule leaves, so it is run at temperature 1: at
//     temperature 0 the target distribution is one-hot, and this is greedy
//     verification.
//
// l = 1 is multi-round verification, and greedy up to ties.
#include "verifiers/lenience.h"

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/row_source.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/row.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

class Lenience : public Verifier {
 public:
  Lenience(double lenience, bool argmax)
      : lenience_(lenience), argmax_(argmax) {}

  VerifierTraits traits() const override {
    return {
        .draw_kinds = {DrawKind::kIndependent, DrawKind::kWithoutReplacement,
                       DrawKind::kDeterministic},
        .exactness = Exactness::kLossy};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    if (!argmax_) return VerifyRounds(tree, target, chance, lenience_);
    return Descend(tree, [&](int node, TokenId& next) {
      const Distribution& row = target.Row(node);
      next = row.Argmax();
      return MostProbable(tree, node, row, lenience_ * row.Mass(next));
    });
  }

 private:
  static int MostProbable(const DraftTree& tree, int node,
                          const Distribution& row, double bar) {
    int best = -1;
    double best_mass = 0;
    for (int child : tree.node(node).children) {
      const double mass = row.Mass(tree.node(child).token);
      if (tree.node(child).probe() || mass < bar || mass <= best_mass) continue;
      best = child;
      best_mass = mass;
    }
    return best;
  }

  double lenience_;
  bool argmax_;
};

absl::StatusOr<std::unique_ptr<Verifier>> Build(ParamsReader& in) {
  double lenience = 0.5;
  in.Optional("lenience", lenience,
              "The factor by which the draft's mass is discounted.");
  in.Ensure(lenience > 0 && lenience <= 1, "lenience", "must lie in (0, 1]");
  std::string form = "sampling";
  in.OneOf("form", form, {"sampling", "argmax"}, "How tokens are kept.");
  return std::make_unique<Lenience>(lenience, form == "argmax");
}

}  // namespace

VerifierRow LenienceRow() {
  return {.name = "lenience",
          .sentence =
              "LOSSY: speculative sampling with the draft probability "
              "discounted (lenience).",
          .build = Build,
          .variants = {"{form: argmax}"}};
}

}  // namespace banyan
