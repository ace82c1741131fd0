// Claim. LOSSY: keeps a draft token that is near the target's best one, by its
// rank in the target distribution or by its id.
//
// Rule (Stern et al. 2018, Blockwise Parallel Decoding, arXiv 1811.03115,
// sections 5.1 and 5.2). Heads guess the tokens that follow. The longest prefix
// of passing guesses is kept. With p the target distribution, x passes if
//   greedy     x = argmax p                        (verifiers/greedy.cc)
//   top_k      x is among the `k` most probable tokens of p
//   distance   |x - argmax p| <= `epsilon`
// The token after the prefix is the target's, its argmax (`next: argmax`), as
// in the paper, which decodes greedily, or drawn from p. The paper's token
// after the prefix is the first guess of its next block, made by the target
// itself and so never refused: the same token.
//
// `distance` is for tokens that are numbers, such as the intensities of an
// image, as in the paper. The order of text ids has no meaning. On text the
// rule is a contrast: a tolerance that does not depend on how probable a token
// is.
//
// Cases. With `k: 1` and with `epsilon: 0` this is greedy, ties aside: all
// tokens as probable as the k-th pass, and the argmax is the lowest id. Both
// defaults are the least that is not greedy. A token without target mass never
// passes. At temperature 0, where the target distribution is one-hot, this is
// therefore greedy verification; the paper's setting is sampling at temperature
// 1, deterministic draws and `next: argmax`. top_k is top_beta without its
// tolerance. On a tree, which the paper does not have, the longest path that
// passes wins, as in typical acceptance.
//
// Left out: the paper's least size of a block (section 5.3), which accepts
// guesses whatever the target says of them.
//
// What it costs. The output distribution is no longer the target's. The text
// may be unlikely as a whole, since an accepted token becomes context. The
// metric log_probability shows how much likelihood was lost.
#include <cstdlib>
#include <memory>

#include "core/base/params.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "verifiers/longest_path.h"
#include "verifiers/rows.h"
#include "verifiers/verifier.h"

namespace banyan {

namespace {

struct TopKOptions {
  int k = 2;        // of blockwise_top_k
  int epsilon = 1;  // of blockwise_distance
  bool argmax = false;
};

BuiltVerifier BuildTopK(ParamsReader& /*in*/, const TopKOptions& options) {
  const Bar bar = [k = options.k](const Distribution& p) {
    return MassAtPlace(p, k);
  };
  return std::make_unique<LongestPath>(AtLeast(bar), options.argmax);
}

BuiltVerifier BuildDistance(ParamsReader& in, const TopKOptions& options) {
  in.Ensure(options.epsilon >= 0, "epsilon", "must not be negative");
  const Standard near = [epsilon = options.epsilon](const Distribution& p) {
    return [epsilon, best = p.Argmax()](TokenId token, double) {
      return std::abs(token - best) <= epsilon;
    };
  };
  return std::make_unique<LongestPath>(near, options.argmax);
}

}  // namespace

VerifierRow BlockwiseTopKRow() {
  Keys<TopKOptions> keys;
  keys.AtLeast("k", &TopKOptions::k, 1,
               "How many of the target's best are kept.");
  AddNext(keys);
  return {
      .name = "blockwise_top_k",
      .sentence =
          "LOSSY: keep what is among the target's k best (blockwise decoding).",
      .keys = keys.Rows(),
      .build = keys.ReadFor(BuildTopK),
      .variants = {"{next: argmax}"}};
}

VerifierRow BlockwiseDistanceRow() {
  Keys<TopKOptions> keys;
  keys.Optional("epsilon", &TopKOptions::epsilon,
                "The largest distance that is kept, in token ids.");
  AddNext(keys);
  return {.name = "blockwise_distance",
          .sentence =
              "LOSSY: keep what lies within epsilon of the target's best, by "
              "id (blockwise decoding).",
          .keys = keys.Rows(),
          .build = keys.ReadFor(BuildDistance),
          .variants = {"{next: argmax}"}};
}

}  // namespace banyan
