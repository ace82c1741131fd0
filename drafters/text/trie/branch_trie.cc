#include "drafters/text/trie/branch_trie.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/token.h"

namespace banyan {

int BranchTrie::Child(int index, TokenId token) const {
  const auto found = children_.find({index, token});
  return found == children_.end() ? kNone : found->second;
}

int BranchTrie::Find(absl::Span<const TokenId> path) const {
  int at = 0;
  for (std::size_t i = 0; i < path.size() && at != kNone; ++i)
    at = Child(at, path[i]);
  return at;
}

void BranchTrie::Put(absl::Span<const TokenId> tokens, Source source) {
  (source == Source::kPrompt ? at(0).prompt : at(0).output) += 1;
  int parent = 0;
  for (TokenId token : tokens) {
    int child = Child(parent, token);
    if (child == kNone) child = AddChild(parent, token);
    Count(parent, child, source);
    parent = child;
  }
}

// Adds a child after all others, in a group of its own: its counts are 0.
int BranchTrie::AddChild(int parent, TokenId token) {
  const int child = static_cast<int>(nodes_.size());
  nodes_.push_back({.token = token});
  children_.emplace(std::pair(parent, token), child);
  PutIn(parent, child, node(parent).last_child);
  return child;
}

void BranchTrie::Count(int parent, int child, Source source) {
  const int before = TakeOut(parent, child);
  (source == Source::kPrompt ? at(child).prompt : at(child).output) += 1;
  PutIn(parent, child, before);
}

// Takes a child out of its siblings. Returns the one before it.
int BranchTrie::TakeOut(int parent, int child) {
  const Node gone = node(child);
  (gone.previous == kNone ? at(parent).first_child : at(gone.previous).next) =
      gone.next;
  (gone.next == kNone ? at(parent).last_child : at(gone.next).previous) =
      gone.previous;
  if (head(gone.group) == child) {
    const bool more = gone.next != kNone && node(gone.next).group == gone.group;
    if (more)
      head(gone.group) = gone.next;
    else
      free_.push_back(gone.group);
  }
  return gone.previous;
}

// Puts a child after the last of `before` and those in front of it that is
// worth at least as much.
void BranchTrie::PutIn(int parent, int child, int before) {
  const double worth = Worth(child);
  while (before != kNone && Worth(before) < worth)
    before = node(head(node(before).group)).previous;
  const int next =
      before == kNone ? node(parent).first_child : node(before).next;
  at(child).previous = before;
  at(child).next = next;
  (before == kNone ? at(parent).first_child : at(before).next) = child;
  (next == kNone ? at(parent).last_child : at(next).previous) = child;
  if (before != kNone && Worth(before) == worth) {
    at(child).group = node(before).group;
    return;
  }
  if (free_.empty()) {
    free_.push_back(static_cast<int>(heads_.size()));
    heads_.push_back(kNone);
  }
  at(child).group = free_.back();
  free_.pop_back();
  head(node(child).group) = child;
}

BranchTrie BranchTrie::Weighed(const Weights& weights) const {
  Check(node(0).prompt == 0 && weights.output > 0, "counts of outputs alone");
  BranchTrie weighed = *this;
  weighed.weights_ = weights;
  return weighed;
}

int BranchTrie::Prune() {
  Check(node(0).prompt == 0, "counts of outputs alone");
  BranchTrie kept(weights_);
  kept.at(0).output = node(0).output / 2;
  // Nodes that stay, and what they are in `kept`.
  std::vector<std::pair<int, int>> parents = {{0, 0}};
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const auto [old_parent, parent] = parents[i];
    for (int old = node(old_parent).first_child; old != kNone;
         old = node(old).next) {
      if (node(old).output <= 1) break;  // as those after it
      const int child = kept.AddChild(parent, node(old).token);
      const int before = kept.TakeOut(parent, child);
      kept.at(child).output = node(old).output / 2;
      kept.PutIn(parent, child, before);
      parents.emplace_back(old, child);
    }
  }
  const int dropped = size() - kept.size();
  *this = std::move(kept);
  return dropped;
}

}  // namespace banyan
