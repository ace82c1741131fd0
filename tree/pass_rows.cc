#include "tree/pass_rows.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "tree/derive.h"
#include "tree/draft_tree.h"

namespace banyan {
namespace {

constexpr int kNoRow = -1;

void AddRow(const DraftTree& tree, int at, int prefix_length, int parent,
            PassRows& rows) {
  const Node& node = tree.node(at);
  const int row = rows.batch.size();
  rows.batch.Add(node.token, prefix_length + node.depth, parent);
  rows.node.push_back(at);
  int& first = rows.row[static_cast<std::size_t>(at)];
  if (first == kNoRow) first = row;
  if (node.vector == nullptr) return;
  rows.vectors.rows.push_back(row);
  rows.vectors.values.insert(rows.vectors.values.end(), node.vector->begin(),
                             node.vector->end());
}

}  // namespace

std::vector<int> PassRows::ChainOf(absl::Span<const int> nodes) const {
  if (merged()) return {nodes.begin(), nodes.end()};
  std::vector<int> chain;
  for (int at = row[static_cast<std::size_t>(nodes.back())];
       at != TokenBatch::kCommitted;
       at = batch.parents[static_cast<std::size_t>(at)])
    chain.push_back(at);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

PassRows MergedRows(const DraftTree& tree, int prefix_length) {
  return {.batch = ToBatch(tree, prefix_length), .vectors = VectorsOf(tree)};
}

PassRows UnmergedRows(const DraftTree& tree, int prefix_length) {
  PassRows rows;
  rows.row.assign(tree.nodes().size(), kNoRow);
  for (int leaf = 0; leaf < tree.size(); ++leaf) {
    if (!tree.node(leaf).children.empty()) continue;
    std::vector<int> chain = PathTo(tree, leaf);
    chain.insert(chain.begin(), 0);
    int parent = TokenBatch::kCommitted;
    for (int node : chain) {
      AddRow(tree, node, prefix_length, parent, rows);
      parent = rows.batch.size() - 1;
    }
  }
  return rows;
}

}  // namespace banyan
