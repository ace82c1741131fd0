#include "verifiers/judging.h"

#include "core/base/check.h"

namespace banyan {

std::vector<NumberedDraw> DrawsOf(const Node& node) {
  std::vector<NumberedDraw> draws;
  for (const Draw* draw : DrawsInTime(node))
    draws.push_back({draw, static_cast<int>(draws.size())});
  return draws;
}

int JudgeDraws(const std::vector<NumberedDraw>& draws, int node,
               Residual& residual, const Chance& chance, double lenience) {
  for (const NumberedDraw& numbered : draws) {
    const Draw& draw = *numbered.draw;
    double ratio = 0;
    if (!draw.dropped()) {
      const double q = draw.proposal.Mass(draw.token);
      Check(q > 0, "a drawn token that its proposal could not give");
      ratio = residual.Mass(draw.token) / (lenience * q);
      if (chance.Accept(ratio, node, numbered.number)) return draw.child;
    }
    // Nothing left of cur means that it was q up to rounding, and the ratio 1.
    if (residual.Subtract(draw.proposal, 1 / lenience) == 0 && ratio > 0)
      return draw.child;
  }
  return -1;
}

TokenId DrawNext(const Distribution& law, int node, const Chance& chance) {
  return law.TokenAt(chance.Draw(law.weights(), Purpose::kTarget, node));
}

TokenId DrawNext(const Residual& law, int node, const Chance& chance) {
  return law.TokenAt(chance.Draw(law.weights(), Purpose::kTarget, node));
}

Verdict VerifyRounds(const DraftTree& tree, RowSource& target,
                     const Chance& chance, double lenience) {
  return VerifyRounds(tree, target, chance, lenience,
                      [](int /*node*/, std::vector<NumberedDraw>&) {});
}

Verdict VerifyRounds(const DraftTree& tree, RowSource& target,
                     const Chance& chance, double lenience, DrawOrder order) {
  return Descend(tree, [&](int node, TokenId& next) {
    Residual residual(target.Row(node));
    std::vector<NumberedDraw> draws = DrawsOf(tree.node(node));
    order(node, draws);
    const int child = JudgeDraws(draws, node, residual, chance, lenience);
    if (child < 0) next = DrawNext(residual, node, chance);
    return child;
  });
}

Verdict Descend(const DraftTree& tree,
                absl::FunctionRef<int(int node, TokenId& next)> step) {
  Verdict verdict;
  int node = 0;
  while (true) {
    const int child = step(node, verdict.next);
    if (child < 0) return verdict;
    Check(tree.node(child).parent == node, "a verdict leaves the tree");
    verdict.path.push_back(child);
    node = child;
  }
}

}  // namespace banyan
