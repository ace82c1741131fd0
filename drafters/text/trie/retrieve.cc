#include "drafters/text/trie/retrieve.h"

#include <cstddef>
#include <queue>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "drafters/text/draft_plan.h"
#include "drafters/text/trie/branch_store.h"
#include "drafters/text/trie/branch_trie.h"

namespace banyan {
namespace {

constexpr int kNone = BranchTrie::kNone;

// A node that may come next: its siblings before it and its parent are in.
struct Candidate {
  double worth;
  int depth;
  int number;  // how many were found before it
  int node;    // of the trie
  int parent;  // of the plan
};

struct ComesLater {
  bool operator()(const Candidate& a, const Candidate& b) const {
    if (a.worth != b.worth) return a.worth < b.worth;
    if (a.depth != b.depth) return a.depth < b.depth;
    return a.number > b.number;
  }
};

class Retrieval {
 public:
  Retrieval(const BranchTrie& mixed, int below, int depth)
      : mixed_(mixed), depth_(depth), places_({below}) {}

  // Adds the best nodes in the order of `trie`, below its node `below`, until
  // the plan has `nodes` nodes.
  void Add(const BranchTrie& trie, int below, int nodes) {
    best_ = {};
    found_ = 0;
    Find(trie, trie.node(below).first_child, 0, 1);
    while (!best_.empty() && plan_.size() - 1 < nodes) {
      const Candidate next = best_.top();
      best_.pop();
      const int node = InPlan(next.parent, trie.node(next.node).token);
      Find(trie, trie.node(next.node).next, next.parent, next.depth);
      if (next.depth < depth_)
        Find(trie, trie.node(next.node).first_child, node, next.depth + 1);
    }
  }

  DraftPlan Take() && { return std::move(plan_); }

 private:
  void Find(const BranchTrie& trie, int node, int parent, int depth) {
    if (node != kNone)
      best_.push({trie.Worth(node), depth, found_++, node, parent});
  }

  int InPlan(int parent, TokenId token) {
    const int known = plan_.Child(parent, token);
    if (known >= 0) return known;
    const int above = places_[static_cast<std::size_t>(parent)];
    const int place = mixed_.Child(above, token);
    places_.push_back(place);
    return plan_.Add(parent, token, mixed_.Worth(place) / mixed_.Worth(above));
  }

  const BranchTrie& mixed_;
  int depth_;
  DraftPlan plan_;
  std::vector<int> places_;  // by node of the plan, in mixed_
  std::priority_queue<Candidate, std::vector<Candidate>, ComesLater> best_;
  int found_ = 0;
};

}  // namespace

DraftPlan Retrieve(const BranchStore::Tries& tries,
                   absl::Span<const TokenId> path, const RetrievalSize& size) {
  const int below = tries.mixed().Find(path);
  if (below == kNone) return {};
  Retrieval retrieval(tries.mixed(), below, size.depth);
  const int of_outputs = tries.outputs().Find(path);
  if (of_outputs != kNone)
    retrieval.Add(tries.outputs(), of_outputs, size.output_nodes);
  retrieval.Add(tries.mixed(), below, size.nodes);
  return std::move(retrieval).Take();
}

}  // namespace banyan
