// The tree of largest expected yield when acceptance depends on rank alone.
//
// Claim. Let p_b be the probability that the b-th drawn child is the one the
// target accepts, the same at every node and independent between levels; the
// p_b sum to at most 1. A node is then accepted with the product of the p's of
// the ranks along its path, and the expected tokens of one target pass are the
// sum of these products over the nodes, the root counted as 1. The programme
// finds a tree of largest sum within a number of nodes, levels and children of
// a node.
//
// Recurrence. F(n, d) is the largest sum of a tree of exactly n nodes, the root
// included, and depth at most d; G(n, d, b) the same for a root with exactly b
// children, whose subtrees have depth at most d - 1:
//
//   (1) F(1, d) = 1 for d >= 0, and F(n, 0) = -infinity for n > 1;
//   (2) G(1, d, 0) = 1, and G(n, d, 0) = -infinity for n > 1;
//   (3) G(n, d, b) = max over m >= 1 of G(n - m, d, b - 1) + p_b F(m, d - 1);
//   (4) F(n, d) = max over b of G(n, d, b).
//
// In (3) m is the size of the last child's subtree; m >= 1, so ranks are never
// skipped. Without a limit on depth d drops out: F(m) in (3) has m < n. The
// answer is the best F(n, `levels`) over n up to `nodes` and the root: a
// bounded depth and branching may not admit every n.
//
// Cases. Any p, sorted or not, zeros included; depth and branching limited or
// not. Not covered: acceptance that changes with depth or with the context
// (tree/optimize/medusa.h has the first).
//
// Ties, values compared as doubles: the fewest nodes; then, where depth is
// limited, the least depth; then, from the root down, the most children; then
// the smallest subtree for the last child, the last but one, and so on.
//
// Cost. With N = `nodes` + 1 and B ranks, O(N^2 B D) time and O(N B D) memory;
// without a limit on depth, or with one no tree can reach, O(N^2 B) and O(N B).
//
// Reference: Chen et al., Sequoia: Scalable, Robust, and Hardware-aware
// Speculative Decoding, arXiv:2402.12374. The published search leaves out the
// conditions for n = 1 and d = 0.
#ifndef BANYAN_TREE_OPTIMIZE_SEQUOIA_H_
#define BANYAN_TREE_OPTIMIZE_SEQUOIA_H_

#include <vector>

#include "core/base/common.h"
#include "tree/optimize/shape.h"

namespace banyan {

struct SequoiaOptions {
  static constexpr int kMaxNodes = 1 << 16;

  // p_1, p_2, ...; ranks beyond are never drawn.
  std::vector<double> acceptance;
  // Drafted nodes; the root is not counted.
  int nodes = 0;
  // Levels of drafted nodes; 0 is no limit.
  int levels = 0;
  // Children a node; 0 is as many as there are acceptances.
  int width = 0;
};

// OK, or which option is impossible.
absl::Status CheckOptions(const SequoiaOptions& options);
// The first of `acceptance` that a tree within the options can use.
std::vector<double> UsableAcceptance(const SequoiaOptions& options);

// The tree described above. Fails on impossible options, and when the tables
// would not fit in SequoiaTable::kMaxEntries.
absl::StatusOr<RatedShape> BestTree(const SequoiaOptions& options);

}  // namespace banyan

#endif  // BANYAN_TREE_OPTIMIZE_SEQUOIA_H_
