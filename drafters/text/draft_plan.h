// DraftPlan: what a drafter means to propose in one round, as a trie below the
// last committed token.
#ifndef BANYAN_DRAFTERS_TEXT_DRAFT_PLAN_H_
#define BANYAN_DRAFTERS_TEXT_DRAFT_PLAN_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"

namespace banyan {

class DraftPlan {
 public:
  struct Node {
    TokenId token = 0;
    int parent = -1;
    // How much speaks for it among what may follow its parent: a count, or a
    // share of one. More than 0.
    double score = 0;
    int first_child = -1;
    int next_sibling = -1;  // added before this one
  };

  DraftPlan() : nodes_(1) {}

  // A child of node `parent`; 0 is the root. Siblings are distinct tokens.
  // Returns its number.
  int Add(int parent, TokenId token, double score);
  // A chain of these tokens from the root, each with the score 1.
  static DraftPlan Chain(absl::Span<const TokenId> tokens);

  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& node(int index) const {
    return nodes_[static_cast<std::size_t>(index)];
  }
  int depth(int index) const;
  // The node's child with this token, and the node of a path from the root; -1:
  // none.
  int Child(int index, TokenId token) const;
  int Find(absl::Span<const TokenId> path) const;

 private:
  std::vector<Node> nodes_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_DRAFT_PLAN_H_
