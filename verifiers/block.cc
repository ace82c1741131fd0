// Claim. Lossless on a chain drawn from the draft distribution, and in
// expectation never shorter than judging token by token.
//
// Rule (Sun et al. 2024, Algorithm 2). Let x_1 .. x_g be the chain, P_i and Q_i
// the target and the draft distribution after x_1 .. x_i, and
//     p_0 = 1,  p_i = min(p_(i-1) P_(i-1)(x_i) / Q_(i-1)(x_i), 1),
//     A_i = sum over x of pos(p_i P_i(x) - Q_i(x)),
//     h_i = A_i / (A_i + 1 - p_i)  for i < g,   h_g = p_g.
// Toss an independent coin for every i; t is the *last* i whose coin is below
// h_i, 0 if there is none. Emit x_1 .. x_t, then a draw from
// norm(pos(p_t P_t - Q_t)), or from P_g if t = g.
//
// Cases. 0/0 in h_i is read as 0: then P_i = Q_i, so h_(i+1) = 1 already. A
// chain may end in a dropped draw: its node then has a restricted Q, whose
// missing mass is a token the target never emits, and counts as i < g. A node
// without draws is h_g: with Q = 0 the formula gives A = p_g, h = p_g.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/params.h"
#include "core/prob/distribution.h"
#include "core/prob/residual.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"
#include "verifiers/judging.h"
#include "verifiers/rows.h"
#include "verifiers/verifier.h"

namespace banyan {
namespace {

// A node of the chain with its draw, null where the chain ends, and p_i.
struct Link {
  int node;
  const Draw* draw;
  double p;
};

std::vector<Link> Links(const DraftTree& tree, RowSource& target) {
  std::vector<Link> links;
  int node = 0;
  double p = 1;
  while (true) {
    const std::vector<NumberedDraw> draws = DrawsOf(tree.node(node));
    const Draw* draw = draws.empty() ? nullptr : draws.front().draw;
    links.push_back({node, draw, p});
    if (draw == nullptr || draw->dropped()) return links;
    p = std::min(p * target.Row(node).Mass(draw->token) /
                     draw->proposal.Mass(draw->token),
                 1.0);
    node = draw->child;
  }
}

class Block : public Verifier {
 public:
  VerifierTraits traits() const override {
    return {.draw_kinds = {DrawKind::kIndependent},
            .chain = true,
            .one_list = true};
  }

  Verdict Verify(const DraftTree& tree, RowSource& target,
                 const Chance& chance) const override {
    const std::vector<Link> links = Links(tree, target);
    std::size_t last = links.size() - 1;
    while (last > 0 && !AcceptsUpTo(links[last], target, chance)) --last;

    Verdict verdict;
    for (std::size_t i = 1; i <= last; ++i)
      verdict.path.push_back(links[i].node);
    const Link& end = links[last];
    Residual residual(target.Row(end.node));
    if (end.draw != nullptr) residual.Subtract(end.draw->proposal, end.p);
    verdict.next = DrawNext(residual, end.node, chance);
    return verdict;
  }

 private:
  // The coin of h_i. Coins are independent, so tossing them from the last to
  // the first until one succeeds finds the last success.
  static bool AcceptsUpTo(const Link& link, RowSource& target,
                          const Chance& chance) {
    if (link.p == 0) return false;
    if (link.draw == nullptr) return chance.Accept(link.p, link.node);
    const double excess =
        Residual(target.Row(link.node)).Excess(link.draw->proposal, link.p);
    if (!(excess > 0)) return false;
    return chance.Accept(excess / (excess + 1 - link.p), link.node);
  }
};

}  // namespace

VerifierRow BlockRow() {
  return {.name = "block",
          .sentence =
              "Block verification: a chain judged as a whole, keeping the "
              "longest prefix.",
          .build = [](ParamsReader&) { return std::make_unique<Block>(); }};
}

}  // namespace banyan
