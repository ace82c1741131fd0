#include "verifiers/rounds.h"

#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/residual.h"
#include "core/prob/row_source.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

std::vector<Round> RoundsOf(const Node& node) {
  std::vector<Round> rounds;
  for (const DrawList& list : node.lists)
    for (const Draw& draw : list.draws)
      rounds.push_back({&draw, static_cast<int>(rounds.size())});
  return rounds;
}

int JudgeRounds(const std::vector<Round>& rounds, int node, Residual& residual,
                const Chance& chance, double lenience) {
  for (const Round& round : rounds) {
    const Draw& draw = *round.draw;
    double ratio = 0;
    if (!draw.dropped()) {
      const double q = draw.proposal.Mass(draw.token);
      Check(q > 0, "a drawn token that its proposal could not give");
      ratio = residual.Mass(draw.token) / (lenience * q);
      if (chance.Accept(ratio, node, round.number)) return draw.child;
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
                      [](int /*node*/, std::vector<Round>&) {});
}

Verdict VerifyRounds(const DraftTree& tree, RowSource& target,
                     const Chance& chance, double lenience, RoundOrder order) {
  return Descend(tree, [&](int node, TokenId& next) {
    Residual residual(target.Row(node));
    std::vector<Round> rounds = RoundsOf(tree.node(node));
    order(node, rounds);
    const int child = JudgeRounds(rounds, node, residual, chance, lenience);
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
