// GrowingTree: the merged tree of several drafters while they draw, in the
// order of time. Each drafter has a tree of its own in it (TrunkTree), whose
// nodes are nodes of the merged one.
//
// A drafter may go on below a token that only another one drew: Adopt() puts
// the node into its tree, without a draw. It is then asked for the node as for
// its own, and what it draws there is judged like any other draw.
#ifndef BANYAN_TREE_GROWING_TREE_H_
#define BANYAN_TREE_GROWING_TREE_H_

#include <cstddef>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

// A draw at a node of the merged tree.
struct DrawnAt {
  int drafter;
  const Draw* draw;
};

class GrowingTree {
 public:
  struct Drafter {
    int trunk = 0;
    DrawKind draw_kind = DrawKind::kIndependent;
    // Levels below the root that it can draft.
    int max_depth = std::numeric_limits<int>::max();
    bool below_others = true;  // as its traits say
  };
  struct Node {
    TokenId token = 0;
    int parent = -1;
    int depth = 0;
    std::vector<int> children = {};
    bool final = false;  // ends a text: nothing is drafted below
  };

  // Drafters are called by their places in `drafters`.
  GrowingTree(TokenId root, std::vector<Drafter> drafters,
              absl::Span<const TokenId> end_of_text);

  int size() const { return static_cast<int>(nodes_.size()); }
  // Parents come before children, which stand in the order of time.
  const Node& node(int index) const {
    return nodes_[static_cast<std::size_t>(index)];
  }
  int drafters() const { return static_cast<int>(trees_.size()); }
  const Drafter& drafter(int drafter) const {
    return drafters_[static_cast<std::size_t>(drafter)];
  }
  const TrunkTree& tree(int drafter) const {
    return trees_[static_cast<std::size_t>(drafter)];
  }
  // The node in the drafter's own tree; -1: it is not in it.
  int own(int node, int drafter) const { return own_[Place(node, drafter)]; }
  // The merged node of a node in a drafter's own tree.
  int merged(int own, int drafter) const {
    return merged_[static_cast<std::size_t>(drafter)]
                  [static_cast<std::size_t>(own)];
  }
  // The draws of a drafter at a node so far.
  absl::Span<const Draw> draws(int node, int drafter) const;
  // All draws at a node, in the order of time.
  std::vector<DrawnAt> DrawsInTime(int node) const;
  bool HasChild(int node, TokenId token) const;
  // Its proposal there; null: it was not asked.
  const Proposal* proposal(int node, int drafter) const;
  // Whether it may draw at a node, of its own tree or not.
  bool MayDraw(int node, int drafter) const;
  // What its next draw at a node is made from, without the tokens that were
  // drawn there, by whichever drafter. Requires its proposal.
  Distribution LeftNew(int node, int drafter) const;

  // Puts a node, and those above it, into a drafter's tree, if they are not in
  // it. Returns the node there.
  int Adopt(int node, int drafter);
  // What TrunkTree has under these names, of a node in the drafter's own tree.
  void SetProposal(int drafter, int own, Proposal proposal);
  void AddDraw(int drafter, int own, TokenId token, Distribution judged_by,
               bool dropped);
  void SetShared(int drafter, int own) { at(drafter).SetShared(own); }
  void Close(int drafter, int own) { at(drafter).Close(own); }

  std::vector<TrunkTree> Take() && { return std::move(trees_); }

 private:
  TrunkTree& at(int drafter) {
    return trees_[static_cast<std::size_t>(drafter)];
  }
  std::size_t Place(int node, int drafter) const {
    return static_cast<std::size_t>(node) * trees_.size() +
           static_cast<std::size_t>(drafter);
  }
  // A drafter's tree has got this node.
  void Note(int drafter, int own, int node);

  const std::vector<Drafter> drafters_;
  const absl::Span<const TokenId> end_of_text_;
  std::vector<TrunkTree> trees_;
  std::vector<Node> nodes_;
  std::vector<int> own_;                  // by node and drafter
  std::vector<std::vector<int>> merged_;  // by drafter and own node
  int now_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_TREE_GROWING_TREE_H_
