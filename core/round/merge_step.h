// The drafters' trees become one, depth first, with the rows of the target's
// pass: what TrunkTree::Prune and Merge do. A node stands for all drafters'
// that have its path, and is the first of them; draws are judged in the order
// of time, in which one drafter comes after another, so children stand in the
// order of the nodes.
#ifndef BANYAN_CORE_ROUND_MERGE_STEP_H_
#define BANYAN_CORE_ROUND_MERGE_STEP_H_

#include "core/round/book.h"
#include "core/round/draft_steps.h"
#include "core/round/layout.h"

namespace banyan {

template <typename Workers, typename Book>
class MergeStep {
 public:
  BANYAN_STEP MergeStep(const Workers& workers, const Book& round)
      : w_(workers), round_(round) {}

  BANYAN_STEP void Run() const {
    const RoundLayout& of = round_.of;
    if (of.count == 0) BareRoot();
    for (int drafter = 0; drafter < of.count; ++drafter) Keep(drafter);
    w_.Sync();
    if (of.count > 0) {
      for (int depth = 0; depth <= of.levels; ++depth) {
        ForNodes([&](int node) {
          if (Kept(node) && round_.Get(book::kDepth, node) == depth)
            round_.Set(book::kSame, node, FirstWithPath(node));
        });
        w_.Sync();
      }
    }
    ForNodes([&](int node) {
      if (!IsMerged(node)) return;
      for (int a = node; a >= 0; a = round_.MergedParent(a))
        round_.Count(book::kBelow, a);
    });
    w_.Sync();
    ForNodes([&](int node) {
      if (IsMerged(node)) Link(node);
    });
    w_.Sync();
    WriteRows();
  }

 private:
  // Without drafters.
  BANYAN_STEP void BareRoot() const {
    if (w_.index() == 0) {
      round_.Set(book::kToken, 0, round_.Get(book::kRoot));
      round_.Set(book::kParent, 0, -1);
      round_.Set(book::kDepth, 0, 0);
      round_.Set(book::kDistributionRow, 0, -1);
      round_.Set(book::kKept, 0, 1);
      round_.Set(book::kSame, 0, 0);
      round_.Set(book::kBelow, 0, 0);
    }
    w_.Sync();
  }

  // Which nodes of a drafter's tree are left.
  BANYAN_STEP void Keep(int drafter) const {
    const DrafterLayout& of = round_.of.drafters[drafter];
    const int end = round_.Get(book::kNodesEnd, drafter);
    for (int node = of.first_node + w_.index(); node < of.first_node + of.nodes;
         node += w_.count()) {
      bool kept = node < end;
      if (kept && of.shape == ShapeKind::kReranked && node > of.first_node) {
        int better = 0;
        for (int other = of.first_node + 1; other < end; ++other)
          better +=
              SelectStep<Workers, Book>::Better(round_, other, node) ? 1 : 0;
        kept = better < of.total;
      }
      round_.Set(book::kKept, node, kept ? 1 : 0);
      round_.Set(book::kBelow, node, 0);
    }
  }

  // All nodes, shared out.
  template <typename Do>
  BANYAN_STEP void ForNodes(const Do& what) const {
    for (int node = w_.index(); node < round_.of.nodes; node += w_.count())
      what(node);
  }
  BANYAN_STEP bool Kept(int node) const {
    return round_.Get(book::kKept, node) != 0;
  }
  // Whether it is the first with its path.
  BANYAN_STEP bool IsMerged(int node) const {
    return Kept(node) && round_.Get(book::kSame, node) == node;
  }

  // Once the level above is merged.
  BANYAN_STEP int FirstWithPath(int node) const {
    if (round_.of.count == 1) return node;  // a drafter has a path once
    const int parent = round_.MergedParent(node);
    const int depth = round_.Get(book::kDepth, node);
    const int token = round_.Get(book::kToken, node);
    for (int other = 0; other < node; ++other)
      if (Kept(other) && round_.Get(book::kDepth, other) == depth &&
          round_.Get(book::kToken, other) == token &&
          round_.MergedParent(other) == parent)
        return other;
    return node;
  }

  // A merged node's first child, its next sibling, and what stands below its
  // older ones.
  BANYAN_STEP void Link(int node) const {
    const int parent = round_.MergedParent(node);
    int before = 0;
    int next = -1;
    int child = -1;
    for (int other = 0; other < round_.of.nodes; ++other) {
      if (other == node || !IsMerged(other)) continue;
      const int above = round_.MergedParent(other);
      if (above == node && child < 0) child = other;
      if (above != parent) continue;
      if (other < node)
        before += round_.Get(book::kBelow, other);
      else if (next < 0)
        next = other;
    }
    round_.Set(book::kBefore, node, before);
    round_.Set(book::kNextChild, node, next);
    round_.Set(book::kFirstChild, node, child);
  }

  BANYAN_STEP int RowOf(int node) const {
    int row = 0;
    for (int a = round_.Get(book::kSame, node); round_.MergedParent(a) >= 0;
         a = round_.MergedParent(a))
      row += 1 + round_.Get(book::kBefore, a);
    return row;
  }

  BANYAN_STEP void WriteRows() const {
    const RoundLayout& of = round_.of;
    const int rows = round_.Get(book::kBelow, 0);
    const int root = round_.Get(book::kTargetLength);
    for (int i = w_.index(); i < of.rows * of.count; i += w_.count())
      round_.Set(book::kOwnNode, i, -1);
    for (int row = w_.index(); row < of.rows; row += w_.count()) {
      for (int word = 0; word < of.words; ++word)
        round_.Set(book::kTargetVisible, row * of.words + word, 0);
      round_.SetBit(book::kTargetVisible, row * of.words, row);
      if (row < rows) continue;
      round_.Set(book::kTargetTokens, row, 0);
      round_.Set(book::kTargetPositions, row, root);
    }
    ForNodes([&](int node) {
      const int row = Kept(node) ? RowOf(node) : -1;
      round_.Set(book::kRow, node, row);
      if (row < 0 || !IsMerged(node)) return;
      round_.Set(book::kRowNode, row, node);
      round_.Set(book::kTargetTokens, row, round_.Get(book::kToken, node));
      round_.Set(book::kTargetPositions, row,
                 root + round_.Get(book::kDepth, node));
    });
    w_.Sync();
    for (int drafter = 0; drafter < of.count; ++drafter) {
      const DrafterLayout& own = of.drafters[drafter];
      for (int node = own.first_node + w_.index();
           node < own.first_node + own.nodes; node += w_.count())
        if (Kept(node))
          round_.Set(book::kOwnNode,
                     round_.Get(book::kRow, node) * of.count + drafter, node);
    }
    for (int row = w_.index(); row < rows; row += w_.count()) {
      const int node = round_.Get(book::kRowNode, row);
      for (int a = round_.MergedParent(node); a >= 0;
           a = round_.MergedParent(a))
        round_.SetBit(book::kTargetVisible, row * of.words,
                      round_.Get(book::kRow, a));
    }
    if (w_.index() == 0) round_.Set(book::kRows, rows);
  }

  const Workers& w_;
  const Book& round_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_ROUND_MERGE_STEP_H_
