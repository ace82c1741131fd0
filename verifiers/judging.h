// Functions shared by the verifiers that walk from the root.
#ifndef BANYAN_VERIFIERS_JUDGING_H_
#define BANYAN_VERIFIERS_JUDGING_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/residual.h"
#include "core/random/random_source.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

// A draw to judge, and its number among all draws of its node: the number keys
// its coin.
struct NumberedDraw {
  const Draw* draw;
  int number;
};

// Every draw at a node, of all trunks, in the order of time.
std::vector<NumberedDraw> DrawsOf(const Node& node);

// Judges the draws in order against `residual`, which starts as the target
// distribution: accepts (x, q) with min(1, cur(x) / (lenience * q(x))) and
// otherwise sets cur to norm(pos(cur / lenience - q)). A dropped draw counts as
// refused. Returns the child of the accepted draw, or -1 if all were refused.
int JudgeDraws(const std::vector<NumberedDraw>& draws, int node,
               Residual& residual, const Chance& chance, double lenience = 1);

// Draws the token after the path from a distribution or from a residual.
TokenId DrawNext(const Distribution& law, int node, const Chance& chance);
TokenId DrawNext(const Residual& law, int node, const Chance& chance);

// Changes the order in which a node's draws are judged.
using DrawOrder = absl::FunctionRef<void(int node, std::vector<NumberedDraw>&)>;

// Multi-round verification of a whole tree: JudgeDraws from the root down,
// then a draw from what is left.
Verdict VerifyRounds(const DraftTree& tree, RowSource& target,
                     const Chance& chance, double lenience = 1);
Verdict VerifyRounds(const DraftTree& tree, RowSource& target,
                     const Chance& chance, double lenience, DrawOrder order);

// Walks down from the root. At each node `step(node, next)` returns the child
// to move to, or -1 to stop there with `next` as the token after the path.
Verdict Descend(const DraftTree& tree,
                absl::FunctionRef<int(int node, TokenId& next)> step);

}  // namespace banyan

#endif  // BANYAN_VERIFIERS_JUDGING_H_
