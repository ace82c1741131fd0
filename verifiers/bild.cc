// Claim. LOSSY: keeps draft tokens unless the target finds them very unlikely.
//
// Rule (Kim et al. 2023, Big Little Decoder, arXiv 2302.07863). The distance of
// a draft token x from the target distribution p is -log p(x), the cross
// entropy. On a chain the first token farther than `rollback` is replaced by
// the target's own, drawn from p or its argmax (`next`). All tokens before it
// are accepted without a further test. After a chain accepted whole the next
// token is the target's. On a tree, which the paper does not have, the longest
// such path wins, as in typical acceptance.
//
// The paper compares distributions at temperature 1 and takes argmaxes.
// Sampling at temperature 1, deterministic draws and `next: argmax` do the
// same. At temperature 0 the target distribution is one-hot, and every token
// but its argmax is infinitely far. This is then greedy verification, however
// large `rollback` is.
//
// The other half of the paper, the fallback, is a policy: adaptive_chain with
// `on_low: stop_before` stops where the drafter's largest mass is below the
// threshold, and the token there is the target's.
#include <cmath>
#include <memory>

#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "verifiers/longest_path.h"
#include "verifiers/rows.h"
#include "verifiers/verifier.h"

namespace banyan {

namespace {

struct BildOptions {
  double rollback = 3;
  bool argmax = false;
};

BuiltVerifier BuildBild(ParamsReader& in, const BildOptions& options) {
  in.Ensure(options.rollback >= 0, "rollback", "must not be negative");
  const double least = std::exp(-options.rollback);
  return std::make_unique<LongestPath>(
      AtLeast([least](const Distribution&) { return least; }), options.argmax);
}

}  // namespace

VerifierRow BildRow() {
  Keys<BildOptions> keys;
  keys.Optional("rollback", &BildOptions::rollback,
                "How unlikely a kept token may be, in nats.");
  AddNext(keys);
  return {
      .name = "bild",
      .sentence = "LOSSY: take back what the target finds too unlikely (BiLD).",
      .keys = keys.Rows(),
      .build = keys.ReadFor(BuildBild),
      .variants = {"{next: argmax}"}};
}

}  // namespace banyan
