#include "drafters/pending_tree.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

void PendingTree::Clear() {
  rows_.clear();
  row_of_.clear();
}

int PendingTree::RowOf(int node) const {
  const auto at = static_cast<std::size_t>(node);
  const int row = at < row_of_.size() ? row_of_[at] : -1;
  Check(row >= 0, "a proposal below a node without one");
  return row;
}

void PendingTree::AddTo(TokenBatch& batch, const TrunkTree& tree,
                        absl::Span<const int> nodes, int root_position) const {
  for (int index : nodes) {
    const Node& node = tree.node(index);
    const int parent = index == 0 ? batch.size() - 1  // kCommitted is -1
                                  : RowOf(node.parent);
    batch.Add(node.token, root_position + node.depth, parent);
  }
}

void PendingTree::Scored(const TokenBatch& batch, absl::Span<const int> nodes) {
  const std::size_t first = rows_.size() + batch.tokens.size() - nodes.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto node = static_cast<std::size_t>(nodes[i]);
    row_of_.resize(std::max(row_of_.size(), node + 1), -1);
    row_of_[node] = static_cast<int>(first + i);
  }
  for (std::size_t i = 0; i < batch.tokens.size(); ++i)
    rows_.push_back({batch.tokens[i], batch.parents[i]});
}

std::vector<int> PendingTree::PathOf(absl::Span<const TokenId> tokens) const {
  std::vector<int> path;
  int parent = TokenBatch::kCommitted;
  for (TokenId token : tokens) {
    const auto next =
        std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
          return row.parent == parent && row.token == token;
        });
    if (next == rows_.end()) break;
    parent = static_cast<int>(next - rows_.begin());
    path.push_back(parent);
  }
  return path;
}

}  // namespace banyan
