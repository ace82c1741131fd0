// Claim. LOSSY: keeps a draft token that is nearly the target's best.
//
// Rule (Xia et al. 2022, SpecDec, arXiv 2203.16487, Spec-Verification). With p
// the target distribution, x passes if it is among the `beta` likeliest and
//     log p(best) - log p(x) <= tolerance.
// Of equals at the beta-th place all are among them, as in the paper, which
// compares with that place's mass. The first token that does not pass is
// refused, and the target's own, drawn from p or its argmax (`next`), stands in
// its place; after a chain accepted whole the next token is the target's. On a
// tree, which the paper does not have, the longest path that passes wins, as in
// typical acceptance.
//
// The paper decodes greedily, by distributions at temperature 1. Sampling at
// temperature 1, deterministic draws and `next: argmax` do the same; with
// `beta: 1` that is greedy decoding, ties aside. At temperature 0 the target
// distribution is one-hot, and this is greedy verification.
#include <algorithm>
#include <cmath>
#include <memory>

#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "verifiers/longest_path.h"
#include "verifiers/rows.h"
#include "verifiers/verifier.h"

namespace banyan {

namespace {

struct TopBetaOptions {
  int beta = 3;
  double tolerance = 1;
  bool argmax = false;
};

BuiltVerifier BuildTopBeta(ParamsReader& in, const TopBetaOptions& options) {
  in.Ensure(options.tolerance >= 0, "tolerance", "must not be negative");
  const double share = std::exp(-options.tolerance);
  const Bar bar = [beta = options.beta, share](const Distribution& p) {
    return std::max(MassAtPlace(p, beta), share * p.Mass(p.Argmax()));
  };
  return std::make_unique<LongestPath>(AtLeast(bar), options.argmax);
}

}  // namespace

VerifierRow TopBetaRow() {
  Keys<TopBetaOptions> keys;
  keys.AtLeast("beta", &TopBetaOptions::beta, 1,
               "How many of the target's best are kept.");
  keys.Optional("tolerance", &TopBetaOptions::tolerance,
                "How far below the best a kept token may be, in nats.");
  AddNext(keys);
  return {
      .name = "top_beta",
      .sentence = "LOSSY: keep what is among the target's best few (SpecDec).",
      .keys = keys.Rows(),
      .build = keys.ReadFor(BuildTopBeta),
      .variants = {"{next: argmax}"}};
}

}  // namespace banyan
