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
#include <memory>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/rows.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

struct LenienceOptions {
  double lenience = 0.5;
  bool argmax = false;
};

class Lenience : public Verifier {
 public:
  explicit Lenience(const LenienceOptions& options) : options_(options) {}

  VerifierTraits traits() const override {
    return {
        .draw_kinds = {DrawKind::kIndependent, DrawKind::kWithoutReplacement,
                       DrawKind::kDeterministic},
        .exactness = Exactness::kLossy};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    if (!options_.argmax)
      return VerifyRounds(tree, target, chance, options_.lenience);
    return Descend(tree, [&](int node, TokenId& next) {
      const Distribution& row = target.Row(node);
      next = row.Argmax();
      return MostProbable(tree, node, row, options_.lenience * row.Mass(next));
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

  LenienceOptions options_;
};

BuiltVerifier BuildLenience(ParamsReader& in, const LenienceOptions& options) {
  in.Ensure(options.lenience > 0 && options.lenience <= 1, "lenience",
            "must lie in (0, 1]");
  return std::make_unique<Lenience>(options);
}

}  // namespace

VerifierRow LenienceRow() {
  Keys<LenienceOptions> keys;
  keys.Optional("lenience", &LenienceOptions::lenience,
                "The factor by which the draft's mass is discounted.");
  keys.OneOf("form", &LenienceOptions::argmax, {"sampling", "argmax"},
             "How tokens are kept.");
  return {.name = "lenience",
          .sentence =
              "LOSSY: speculative sampling with the draft probability "
              "discounted (lenience).",
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildLenience),
          .variants = {"{form: argmax}"}};
}

}  // namespace banyan
