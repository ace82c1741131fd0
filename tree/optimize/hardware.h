// The tree of largest predicted speed on measured hardware.
//
// Claim. A round with a tree of n drafted nodes and depth d yields E tokens
// (the sum of sequoia.h) and takes
//
//   T = sum over the d drafted levels of the draft's cost + target_ms(n + 1),
//
// since the target scores the root too. The search maximises E / T over n and
// d, n = 0 (plain decoding: E = 1, T = target_ms(1)) included. For each n and d
// the tree is the programme's best.
//
// Sequences that share every pass multiply its tokens: with S of them, each
// with such a tree, T has target_ms(S (n + 1)), and plain decoding takes
// target_ms(S).
//
// The draft's cost is a number a level, or a curve read at the number of tokens
// in the level's drafting pass: the nodes of the level above that have
// children. The first level's pass has 1 token, the root.
//
// Method. Depths are tried upwards. A deeper tree of n nodes yields at most
// F(n), the value without a limit on depth, and takes at least one more level
// at the draft's cheapest. When that beats the best so far for no n, or F(n, d)
// has reached F(n) for every n that matters, no deeper tree can win: so an
// absent `levels` costs the depths that are worth it, not N of them. Under a
// curve, trees are laid out only for sizes whose cheapest conceivable time
// could win.
//
// Cases. A draft curve that ends too early is an error exactly if a tree that
// needs a wider pass would win with that pass at the curve's cheapest time.
// Not covered: trees that give up expected tokens for narrower passes.
//
// Ties: the fewest nodes, then the least depth, then as sequoia.h.
//
// Reference: Chen et al., arXiv:2402.12374; the cost model is that of Leviathan
// et al., Fast Inference from Transformers via Speculative Decoding, 2023.
#ifndef BANYAN_TREE_OPTIMIZE_HARDWARE_H_
#define BANYAN_TREE_OPTIMIZE_HARDWARE_H_

#include <variant>

#include "absl/status/statusor.h"
#include "tree/optimize/cost_curve.h"
#include "tree/optimize/sequoia.h"
#include "tree/optimize/shape.h"

namespace banyan {

struct HardwareOptions {
  // Acceptance, and the largest sizes to consider.
  SequoiaOptions limits;
  // By tokens in the target's pass. Must cover 1 to limits.nodes + 1, times
  // `sequences`.
  CostCurve target_ms;
  // A level's cost: a number, not negative, or a curve by tokens in its pass.
  std::variant<double, CostCurve> draft_ms;
  int sequences = 1;  // that share every pass; at least 1
};

struct HardwareChoice {
  Shape shape;
  int nodes = 0;   // drafted
  int levels = 0;  // of them
  double expected_tokens = 1;
  double round_ms = 0;
  double tokens_per_ms = 0;
  // tokens_per_ms against plain decoding on the same curve; at least 1.
  double speedup = 1;
};

// Fails on impossible options, on sizes that a curve does not cover, and when
// the tables would not fit in SequoiaTable::kMaxEntries.
absl::StatusOr<HardwareChoice> FastestTree(const HardwareOptions& options);

}  // namespace banyan

#endif  // BANYAN_TREE_OPTIMIZE_HARDWARE_H_
