// What follows from a finished tree: the batch to score, masks, paths. Pure
// functions.
#ifndef BANYAN_TREE_DERIVE_H_
#define BANYAN_TREE_DERIVE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

// One row per node, in the order of nodes; row 0, the root, follows the
// committed prefix of `prefix_length` tokens.
TokenBatch ToBatch(const DraftTree& tree, int prefix_length);

// The rows of ToBatch that start from vectors, ascending, and the vectors, one
// after the other.
struct RowVectors {
  std::vector<int> rows;
  std::vector<float> values;
};
RowVectors VectorsOf(const DraftTree& tree);

// Which earlier rows each row attends to, itself included, as bits: row i takes
// words_per_row words from i * words_per_row, and bit j % 64 of word j / 64
// says whether j is i or an ancestor of i. `parents` as in TokenBatch, within
// one batch.
struct AncestorMask {
  int rows = 0;
  int words_per_row = 0;
  std::vector<std::uint64_t> words;

  bool Attends(int row, int to) const;
};
AncestorMask ToMask(absl::Span<const int> parents);

// The nodes from the root's child down to `node`; empty for the root.
std::vector<int> PathTo(const DraftTree& tree, int node);
// The same in tokens.
std::vector<TokenId> TokensTo(const DraftTree& tree, int node);
std::vector<TokenId> TokensTo(const TrunkTree& tree, int node);

}  // namespace banyan

#endif  // BANYAN_TREE_DERIVE_H_
