// PendingTree: maps nodes of the tree under way to the pending rows of a
// drafter's session.
#ifndef BANYAN_DRAFTERS_PENDING_TREE_H_
#define BANYAN_DRAFTERS_PENDING_TREE_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

class PendingTree {
 public:
  void Clear();

  // Adds a row for each of `nodes` to `batch`, below the row of its parent; the
  // root below what the batch holds so far. A node's position is the root's and
  // its depth. Their parents were scored before, or stand before them.
  void AddTo(TokenBatch& batch, const TrunkTree& tree,
             absl::Span<const int> nodes, int root_position) const;
  // The same where `token_of` gives a node's token, which is not the tree's.
  void AddTo(TokenBatch& batch, const TrunkTree& tree,
             absl::Span<const int> nodes, int root_position,
             absl::FunctionRef<TokenId(int node)> token_of) const;
  // `batch`, whose last rows are those of `nodes`, was scored.
  void Scored(const TokenBatch& batch, absl::Span<const int> nodes);

  bool Has(int node) const;
  // The row of a node that was scored.
  int RowOf(int node) const;
  // Returns the rows that spell these tokens after the committed ones, as far
  // as there are any.
  std::vector<int> PathOf(absl::Span<const TokenId> tokens) const;
  // By node of a merged tree, the row that spells its path from the root on;
  // -1: there is none. Requires that the root has the first row.
  std::vector<int> RowsOf(const DraftTree& tree) const;

 private:
  struct Row {
    TokenId token;
    int parent;
  };

  std::vector<Row> rows_;    // the session's pending ones
  std::vector<int> row_of_;  // by node; -1: not scored
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_PENDING_TREE_H_
