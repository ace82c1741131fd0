#include "drafters/text/suffix/follow_on.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "drafters/text/draft_plan.h"
#include "drafters/text/suffix/suffix_tree.h"

namespace banyan {
namespace {

// The smallest count that is at least this share of `whole`.
int LeastCount(double share, int whole) {
  int count = static_cast<int>(share * whole);
  while (count > 0 && static_cast<double>(count - 1) / whole >= share) --count;
  while (static_cast<double>(count) / whole < share) ++count;
  return count;
}

}  // namespace

bool FollowOn::IsWorse(const Open& a, const Open& b) {
  return a.count != b.count ? a.count < b.count : a.found > b.found;
}

void FollowOn::Find(const SuffixTree& tree, SuffixTree::Place from,
                    int budget) {
  pieces_.clear();
  open_.clear();
  found_ = 0;
  const int whole = tree.count(from.node);
  const int least = LeastCount(least_, whole);
  open_.push_back({whole, found_++, from.node, from.length, -1});
  double counted = 0;
  while (budget > 0 && !open_.empty()) {
    const Open best = TakeBest();
    const int length = std::min(budget, tree.length(best.node) - best.first);
    int above = best.above;
    if (length > 0) {
      above = static_cast<int>(pieces_.size());
      pieces_.push_back({best.node, best.first, length, best.above});
    }
    counted += static_cast<double>(length) * best.count;
    budget -= length;
    if (budget > 0) Follow(tree, best.node, above, least);
  }
  score_ = counted / whole;
}

void FollowOn::Follow(const SuffixTree& tree, int node, int above, int least) {
  tree.Children(node, least, children_);
  for (int child : children_) {
    open_.push_back({tree.count(child), found_++, child, 0, above});
    if (!as_tree_) break;
    std::push_heap(open_.begin(), open_.end(), IsWorse);
  }
}

FollowOn::Open FollowOn::TakeBest() {
  std::pop_heap(open_.begin(), open_.end(), IsWorse);
  const Open best = open_.back();
  open_.pop_back();
  return best;
}

DraftPlan FollowOn::Plan(const SuffixTree& tree) const {
  DraftPlan plan;
  std::vector<int> ends;  // of the pieces, in the plan
  for (const Piece& piece : pieces_) {
    int at = piece.above < 0 ? 0 : ends[static_cast<std::size_t>(piece.above)];
    for (int i = piece.first; i < piece.first + piece.length; ++i) {
      const double share = i > 0 ? 1
                                 : static_cast<double>(tree.count(piece.node)) /
                                       tree.count(tree.parent(piece.node));
      at = plan.Add(at, tree.token(piece.node, i), share);
    }
    ends.push_back(at);
  }
  return plan;
}

}  // namespace banyan
