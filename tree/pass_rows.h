// PassRows: the rows that a pass of the target has for a tree.
#ifndef BANYAN_TREE_PASS_ROWS_H_
#define BANYAN_TREE_PASS_ROWS_H_

#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"

namespace banyan {

struct PassRows {
  TokenBatch batch;
  RowVectors vectors;
  // Which node a row is of, and the row of each node that is read: the first of
  // its rows. Both are empty where row i is node i.
  std::vector<int> node = {};
  std::vector<int> row = {};

  bool merged() const { return node.empty(); }
  // The rows of nodes that stand below each other, from the root on, in one
  // chain: of the last one the row that is read, and those that it follows.
  std::vector<int> ChainOf(absl::Span<const int> nodes) const;
};

// Returns a row per node, in their order. The root follows the committed prefix
// of `prefix_length` tokens.
PassRows MergedRows(const DraftTree& tree, int prefix_length);

// Returns every path from the root to a leaf as a chain of rows of its own,
// with the root's row, one chain after the other in the order of leaves: a
// batch of sequences whose common beginnings are not merged. A node has a row
// for each leaf below it, and all these rows see the same text.
PassRows UnmergedRows(const DraftTree& tree, int prefix_length);

}  // namespace banyan

#endif  // BANYAN_TREE_PASS_ROWS_H_
