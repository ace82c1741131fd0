#include "tree/derive.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {
namespace {

constexpr int kWordBits = 64;

// For either kind of tree: the nodes from the root's child down.
template <typename Tree>
std::vector<int> Path(const Tree& tree, int node) {
  std::vector<int> path;
  for (int i = node; i > 0; i = tree.node(i).parent) path.push_back(i);
  std::reverse(path.begin(), path.end());
  return path;
}

template <typename Tree>
std::vector<TokenId> Tokens(const Tree& tree, int node) {
  std::vector<TokenId> tokens;
  for (int i : Path(tree, node)) tokens.push_back(tree.node(i).token);
  return tokens;
}

}  // namespace

TokenBatch ToBatch(const DraftTree& tree, int prefix_length) {
  TokenBatch batch;
  for (const Node& node : tree.nodes()) {
    batch.tokens.push_back(node.token);
    batch.positions.push_back(prefix_length + node.depth);
    batch.parents.push_back(node.parent);
  }
  return batch;
}

RowVectors VectorsOf(const DraftTree& tree) {
  RowVectors vectors;
  for (int i = 0; i < tree.size(); ++i) {
    const auto& vector = tree.node(i).vector;
    if (vector == nullptr) continue;
    vectors.rows.push_back(i);
    vectors.values.insert(vectors.values.end(), vector->begin(), vector->end());
  }
  return vectors;
}

bool AncestorMask::Attends(int row, int to) const {
  const auto word =
      static_cast<std::size_t>(row * words_per_row + to / kWordBits);
  return ((words[word] >> (to % kWordBits)) & 1) != 0;
}

AncestorMask ToMask(absl::Span<const int> parents) {
  AncestorMask mask;
  mask.rows = static_cast<int>(parents.size());
  mask.words_per_row = (mask.rows + kWordBits - 1) / kWordBits;
  const auto words = static_cast<std::size_t>(mask.words_per_row);
  mask.words.assign(parents.size() * words, 0);
  for (std::size_t row = 0; row < parents.size(); ++row) {
    std::uint64_t* own = mask.words.data() + row * words;
    if (parents[row] >= 0) {
      const std::uint64_t* parent =
          mask.words.data() + static_cast<std::size_t>(parents[row]) * words;
      std::copy(parent, parent + words, own);
    }
    own[row / kWordBits] |= std::uint64_t{1} << (row % kWordBits);
  }
  return mask;
}

std::vector<int> PathTo(const DraftTree& tree, int node) {
  return Path(tree, node);
}

std::vector<TokenId> TokensTo(const DraftTree& tree, int node) {
  return Tokens(tree, node);
}

std::vector<TokenId> TokensTo(const TrunkTree& tree, int node) {
  return Tokens(tree, node);
}

}  // namespace banyan
