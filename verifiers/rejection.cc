// Claim. Lossless on a chain of tokens drawn from the draft distribution, and
// never better than speculative sampling: it accepts a draw with 1 / M,
// speculative sampling with sum of min(p, q).
//
// Rule (Leviathan et al. 2022, appendix A.2, without iteration). With
// M = max of p(x) / q(x) over the support of p, accept x, drawn from q, with
// probability p(x) / (M q(x)). At the first refusal emit a draw from p itself
// and stop; after the last accepted token emit a draw from p.
//
// Why. x is drawn and accepted with q(x) p(x) / (M q(x)) = p(x) / M, so some
// token is with 1 / M, and given that it follows p. After a refusal the token
// follows p too: together p(x) / M + (1 - 1 / M) p(x) = p(x).
//
// Why a draw from p is what redrawing gives. Rejection sampling draws from q
// and judges until it accepts. Each try emits x with p(x) / M and fails with 1
// - 1 / M, so what is emitted after a refusal is x with p(x) / M * sum over k
// >= 0 of (1 - 1 / M)^k = p(x). Only the number of tries, M on average, is left
// out.
//
// Why it is never better. 1 / M = min over y of q(y) / p(y), so
//     1 / M = sum over x of p(x) / M <= sum of p(x) min(1, q(x) / p(x))
//           = sum of min(p, q).
// One token that the draft gives far less than the target is enough to make 1 /
// M small: the worst token sets the price of all.
//
// Cases. Where q is 0 on the support of p, M is infinite: nothing is accepted
// at that node and the token after it comes from p. This is so wherever the
// draft is cut by top_k, top_p or temperature 0 to fewer tokens than the target
// can emit. A dropped draw is refused. Its q covers what could have been kept,
// so a token of p that is always dropped has q = 0. Where p is one-hot, as at
// temperature 0, M is 1 / q of its token, which is always accepted: there, and
// where p = q, this is speculative sampling.
#include <algorithm>
#include <memory>

#include "core/base/check.h"
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

// 1 / M; 0 where M is infinite.
double InverseOfLargestRatio(const Distribution& p, const Distribution& q) {
  double least = 1;  // no distribution is everywhere above another
  p.ForEach([&](TokenId token, double mass) {
    least = std::min(least, q.Mass(token) / mass);
  });
  return least;
}

// p(x) / (M q(x)). Divides by q(x) / p(x), which is at least 1 / M, so that
// nothing overflows.
double AcceptanceOf(const Draw& draw, const Distribution& p) {
  const double mass = p.Mass(draw.token);
  if (draw.dropped() || mass == 0) return 0;
  const double q = draw.proposal.Mass(draw.token);
  Check(q > 0, "a drawn token that its proposal could not give");
  const double least = InverseOfLargestRatio(p, draw.proposal);
  return least == 0 ? 0 : least / (q / mass);
}

class Rejection : public Verifier {
 public:
  VerifierTraits traits() const override {
    return {.draw_kinds = {DrawKind::kIndependent},
            .chain = true,
            .one_list = true};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    return Descend(tree, [&](int node, TokenId& next) {
      const Distribution& p = target.Row(node);
      for (const NumberedDraw& numbered : DrawsOf(tree.node(node)))
        if (chance.Accept(AcceptanceOf(*numbered.draw, p), node,
                          numbered.number))
          return numbered.draw->child;
      next = DrawNext(p, node, chance);
      return -1;
    });
  }
};

}  // namespace

VerifierRow RejectionRow() {
  return {.name = "rejection",
          .sentence =
              "Rejection sampling on a chain: accepts with p / (M q), M = max "
              "p / q.",
          .build = [](ParamsReader&) { return std::make_unique<Rejection>(); }};
}

}  // namespace banyan
