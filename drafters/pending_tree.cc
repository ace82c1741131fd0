#include "drafters/pending_tree.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
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

bool PendingTree::Has(int node) const {
  const auto at = static_cast<std::size_t>(node);
  return at < row_of_.size() && row_of_[at] >= 0;
}

int PendingTree::RowOf(int node) const {
  Check(Has(node), "a proposal below a node without one");
  return row_of_[static_cast<std::size_t>(node)];
}

void PendingTree::AddTo(TokenBatch& batch, const TrunkTree& tree,
                        absl::Span<const int> nodes, int root_position) const {
  AddTo(batch, tree, nodes, root_position,
        [&tree](int node) { return tree.node(node).token; });
}

void PendingTree::AddTo(TokenBatch& batch, const TrunkTree& tree,
                        absl::Span<const int> nodes, int root_position,
                        absl::FunctionRef<TokenId(int node)> token_of) const {
  // Rows are numbered through all batches; -1 below the committed text, alone
  // at the end of a batch that is empty and follows none.
  const int first = static_cast<int>(rows_.size()) + batch.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = tree.node(nodes[i]);
    int parent = nodes[i] == 0 ? first - 1 : -1;
    if (nodes[i] > 0) {
      const auto asked = nodes.subspan(0, i);
      const auto found = std::find(asked.begin(), asked.end(), node.parent);
      parent = found == asked.end()
                   ? RowOf(node.parent)
                   : first + static_cast<int>(found - asked.begin());
    }
    batch.Add(token_of(nodes[i]), root_position + node.depth, parent);
  }
}

std::vector<int> PendingTree::RowsOf(const DraftTree& tree) const {
  std::map<std::pair<int, TokenId>, int> row_at;
  for (std::size_t row = 0; row < rows_.size(); ++row)
    row_at.emplace(std::make_pair(rows_[row].parent, rows_[row].token),
                   static_cast<int>(row));
  std::vector<int> rows(static_cast<std::size_t>(tree.size()), -1);
  for (int i = 0; i < tree.size(); ++i) {
    const Node& node = tree.node(i);
    const int parent =
        i == 0 ? -1 : rows[static_cast<std::size_t>(node.parent)];
    if (node.probe() || (i > 0 && parent < 0)) continue;
    const auto found = row_at.find({parent, node.token});
    if (found != row_at.end())
      rows[static_cast<std::size_t>(i)] = found->second;
  }
  return rows;
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
