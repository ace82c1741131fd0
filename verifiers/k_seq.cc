// Claim. Lossless for K independent draws from one distribution at a node, K
// fixed before the first. Acceptance is within a factor 1 - 1/e of the best
// that K draws allow.
//
// Rule (SpecTr, Algorithm 2). With beta(rho) = sum over x of
// min(q(x), p(x) / rho), take a rho in [1, K] with
//     1 - (1 - beta)^K <= rho * beta.                                      (*)
// Accept the draws in order with min(1, p(x) / (rho q(x))); if all are refused
// emit a draw from norm(p - min(q, p / rho) (1 - (1 - beta)^K) / beta).
//
// Why. Each draw is accepted as x with min(q, p/rho)(x), in total beta, so x is
// emitted by acceptance with min(q, p/rho)(x) (1 - (1 - beta)^K) / beta, which
// by (*) is at most p(x); the residual makes up the difference. Any rho with
// (*) is therefore exactly lossless. The smallest accepts most: bisection
// closes in on it and its upper end, where (*) holds, is used, so the precision
// of the root does not affect the output distribution.
//
// Cases. K = 1 gives rho = 1 and Leviathan's rule. If beta = 0 nothing is
// accepted and the residual is p. Dropped draws are refused rounds. Then q is
// the restricted distribution: its missing mass is a token the target never
// emits.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/draw_math.h"
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

// p and q side by side, where both have mass.
struct Pairs {
  std::vector<double> p;
  std::vector<double> q;
};

double Beta(const Pairs& pairs, double rho) {
  const double* p = pairs.p.data();
  const double* q = pairs.q.data();
  const double share = 1 / rho;
  const double beta = SumInLanes(pairs.p.size(), [=](std::size_t i) {
    return std::min(q[i], share * p[i]);
  });
  return std::min(beta, 1.0);
}

// 1 - (1 - beta)^K without loss for small beta.
double AnyAccepted(double beta, int k) {
  return -std::expm1(k * std::log1p(-beta));
}

// The smallest rho with (*) up to bisection, from above.
double Rho(const Pairs& pairs, int k) {
  const auto holds = [&](double rho) {
    const double beta = Beta(pairs, rho);
    return AnyAccepted(beta, k) <= rho * beta;
  };
  double low = 1;
  double high = k;  // (*) holds there: 1 - (1 - b)^K <= K b
  if (k == 1 || holds(low)) return low;
  constexpr int kHalvings = 40;  // K / 2^40: below 1e-9 for any K in use
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

class KSeq : public Verifier {
 public:
  VerifierTraits traits() const override {
    return {.draw_kinds = {DrawKind::kIndependent},
            .one_list = true,
            .fixed_counts = true};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    return Descend(tree, [&](int node, TokenId& next) {
      const Distribution& p = target.Row(node);
      const std::vector<NumberedDraw> draws = DrawsOf(tree.node(node));
      if (draws.empty()) {
        next = DrawNext(p, node, chance);
        return -1;
      }
      return Judge(p, draws, node, chance, next);
    });
  }

 private:
  static int Judge(const Distribution& p,
                   const std::vector<NumberedDraw>& draws, int node,
                   const Chance& chance, TokenId& next) {
    const Distribution& q = draws.front().draw->proposal;
    Pairs pairs;
    q.ForEach([&](TokenId token, double mass) {
      const double other = p.Mass(token);
      if (!(other > 0)) return;
      pairs.p.push_back(other);
      pairs.q.push_back(mass);
    });
    const int k = static_cast<int>(draws.size());
    const double rho = Rho(pairs, k);
    for (const NumberedDraw& draw : draws) {
      const TokenId token = draw.draw->token;
      if (draw.draw->dropped()) continue;
      const double ratio = p.Mass(token) / (rho * q.Mass(token));
      if (chance.Accept(ratio, node, draw.number)) return draw.draw->child;
    }
    const double beta = Beta(pairs, rho);
    const double taken = beta > 0 ? AnyAccepted(beta, k) / beta : 0;
    next = DrawNext(Rest(p, q, rho, taken), node, chance);
    return -1;
  }

  // p - min(q, p / rho) * taken, unnormalised. It has mass whenever all draws
  // can be refused; rounding may leave none, and then p is the limit.
  static Distribution Rest(const Distribution& p, const Distribution& q,
                           double rho, double taken) {
    std::vector<TokenId> tokens;
    std::vector<double> masses;
    p.ForEach([&](TokenId token, double mass) {
      const double accepted = std::min(q.Mass(token), mass / rho) * taken;
      tokens.push_back(token);
      masses.push_back(std::max(mass - accepted, 0.0));
    });
    Distribution rest = Distribution::Sparse(p.vocab_size(), std::move(tokens),
                                             std::move(masses));
    return rest.empty() ? p : rest;
  }
};

}  // namespace

VerifierRow KSeqRow() {
  return {
      .name = "k_seq",
      .sentence =
          "SpecTr's K-SEQ: K independent draws judged together at each node.",
      .build = [](ParamsReader&) { return std::make_unique<KSeq>(); }};
}

}  // namespace banyan
