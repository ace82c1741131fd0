// The tables of Sequoia's programme; tree/optimize/sequoia.h has the recurrence
// and its numbers.
//
// Sizes count the root here. A layer holds F(., d) and G(., d, b) for one limit
// d on depth. Layers are made one by one, so that a search over depths pays for
// each once, and one more may be made without a limit. Values are kept and the
// choices that gave them found again only for the tree that is wanted.
#ifndef BANYAN_TREE_OPTIMIZE_SEQUOIA_TABLE_H_
#define BANYAN_TREE_OPTIMIZE_SEQUOIA_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "tree/optimize/shape.h"

namespace banyan {

class SequoiaTable {
 public:
  // Names the layer without a limit on depth.
  static constexpr int kUnlimited = -1;
  // 512 MiB of doubles. It bounds the time too: N / 2 steps an entry.
  static constexpr std::int64_t kMaxEntries = std::int64_t{1} << 26;

  // OK if `layers` layers for trees of up to `nodes` nodes stay within
  // kMaxEntries; otherwise says what to lower.
  static absl::Status CheckSize(int nodes, std::size_t ranks, int layers);

  // Holds the layer of depth 0. Requires nodes >= 1 and probabilities.
  SequoiaTable(std::vector<double> acceptance, int nodes);

  // The deepest layer there is.
  int depth() const { return static_cast<int>(layers_.size()) - 1; }
  // Adds the next layer: O(N^2 B).
  void Deepen();
  // True if the deepest layer equals the one above it: all that follow would.
  bool settled() const;
  // Adds the layer without a limit: O(N^2 B).
  void AddUnlimited();

  // F(nodes, depth); -infinity if there is no such tree. Requires the layer.
  double Best(int nodes, int depth) const;
  // A tree that attains it; ties as sequoia.h says. Requires that there is one.
  Shape Tree(int nodes, int depth) const;

 private:
  struct Layer {
    int largest = 1;           // no tree of more nodes fits the depth
    std::vector<double> best;  // by number of nodes: F
    std::vector<std::vector<double>> rows;  // by children, by nodes: G
  };
  Layer EmptyLayer() const;
  const Layer& layer(int depth) const;
  void TakeBest(int nodes, Layer& layer) const;
  std::vector<int> ChildSizes(int nodes, int depth) const;

  std::vector<double> acceptance_;
  int nodes_;
  std::vector<Layer> layers_;  // by depth
  Layer unlimited_;
};

}  // namespace banyan

#endif  // BANYAN_TREE_OPTIMIZE_SEQUOIA_TABLE_H_
