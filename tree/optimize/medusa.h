// A static tree grown greedily from how often each head's guesses are right.
//
// Claim. Let accuracies[h][r] be the measured share of positions at which the
// (r + 1)-th guess of head h + 1 is the right token. Taking heads as
// independent, a node at depth d with ranks r_1..r_d is accepted with the
// product of accuracies[i - 1][r_i - 1], and the expected tokens of one target
// pass are 1 plus the sum of these products.
//
// Method. Start at the root; `nodes` times add the candidate of largest
// product. Candidates are the first child of each node in the tree and the next
// rank of each node in the tree, so ranks are never skipped and parents come
// first. Stop early when no head or rank is left.
//
// Cases. If every head's accuracies fall with rank, a candidate's product is
// never below that of a candidate that follows from it: the tree has the
// largest sum of all trees of its size. Accuracies that rise somewhere are
// taken as they are: a poor rank hides the better rank after it until the poor
// one is added, and the sum may then fall short of the largest. Candidates of
// product 0 are added too when there is room for them.
//
// Ties: the shallower, then the path that comes first in lexicographic order.
//
// Reference: Cai et al., Medusa: Simple LLM Inference Acceleration Framework
// with Multiple Decoding Heads, 2024 (sparse static trees).
#ifndef BANYAN_TREE_OPTIMIZE_MEDUSA_H_
#define BANYAN_TREE_OPTIMIZE_MEDUSA_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tree/optimize/shape.h"

namespace banyan {

struct MedusaOptions {
  static constexpr int kMaxNodes = 1 << 16;

  // By head, then by rank; heads may differ in length. Shares of positions: a
  // head's sum to at most 1.
  std::vector<std::vector<double>> accuracies;
  // Drafted nodes; the root is not counted.
  int nodes = 0;
};

// The tree described above, in O(n (d + log n)) for n nodes of depth d. Fails
// on an impossible number of nodes or accuracy.
absl::StatusOr<RatedShape> GreedyTree(const MedusaOptions& options);

}  // namespace banyan

#endif  // BANYAN_TREE_OPTIMIZE_MEDUSA_H_
