// TrunkTree: one trunk's tree while it is drawn, in the order of time.
//
// Trunks of one round count their draws together. One that grows after another
// begins at its now(); one that goes on after another drew sets it:
//
//   TrunkTree a(root, 0, kind_a), b(root, 1, kind_b);
//   a.AddDraw(...);
//   b.SetNow(a.now());
//   b.AddDraw(...);
//   a.SetNow(b.now());
//   a.AddDraw(...);
#ifndef BANYAN_TREE_TRUNK_TREE_H_
#define BANYAN_TREE_TRUNK_TREE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "tree/draft_tree.h"

namespace banyan {

class TrunkTree {
 public:
  // `now`: the number in time of its first draw.
  TrunkTree(TokenId root, int trunk, DrawKind draw_kind, int now = 0);

  DrawKind draw_kind() const { return draw_kind_; }
  int trunk() const { return trunk_; }
  // The number in time of the next draw.
  int now() const { return now_; }
  // Requires that `now` is not below it.
  void SetNow(int now);
  int size() const { return static_cast<int>(nodes_.size()); }
  // Nodes in the order in which they were made; a node has at most one list.
  const Node& node(int index) const {
    return nodes_[static_cast<std::size_t>(index)];
  }
  // The draws at a node so far; empty before the first.
  absl::Span<const Draw> draws(int index) const;
  // What the drafter said about the token after a node; null before it did.
  const Proposal* proposal(int index) const;
  // What the next draw at a node is made from: the proposal, or what earlier
  // draws left of it. Requires a proposal.
  const Distribution& remaining(int index) const;
  // For deterministic drafting: the token the next draw would take (the largest
  // mass left, ties towards the lower id), and its mass in the proposal; 0 if
  // nothing is left.
  TokenId candidate(int index) const;
  double candidate_mass(int index) const;
  // The product of the drafter's masses along the path to a node: 1 at the
  // root, 0 below the first one that was adopted.
  double path_mass(int index) const;
  // How many draws led to a node; 1 for the root, 0 for one that was adopted.
  int multiplicity(int index) const;
  // Which draw of its parent led to a node first, from 0; -1: none did.
  int rank(int index) const;
  // False for nodes that must not be drafted below: an end of text, a node at
  // the depth limit, one whose proposal has no mass left.
  bool open(int index) const;

  void Close(int index);
  // Closes the node if the proposal has no mass.
  void SetProposal(int index, Proposal proposal);
  // Records a draw, made now, at a node that has a proposal; `judged_by` is
  // Draw::proposal.
  // Makes the child unless the token was drawn here before or is dropped.
  // Returns the child, or Draw::kDropped.
  int AddDraw(int index, TokenId token, Distribution judged_by,
              bool dropped = false);
  void SetShared(int index);
  // Adds a node that another trunk drew, as a child of `parent` that has none
  // with this token.
  int Adopt(int parent, TokenId token);
  // A node that is scored for its trunk and never judged (Node::vector).
  int AddProbe(int parent, TokenId token,
               std::shared_ptr<const std::vector<float>> vector = nullptr);
  // Drops all nodes but those in `keep`, which is closed under parents, with
  // the draws that led to them. Requires deterministic draws.
  void Prune(absl::Span<const int> keep);

 private:
  struct NodeState {
    std::optional<Proposal> proposal;
    Distribution remaining;
    TokenId candidate = 0;
    double candidate_mass = 0;
    double path_mass = 1;
    int multiplicity = 1;
    int rank = -1;
    bool open = true;
  };
  Node& at(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  int NewNode(int parent, TokenId token);
  void SetRemaining(int index, Distribution remaining);

  int trunk_;
  DrawKind draw_kind_;
  int now_;
  std::vector<Node> nodes_;
  std::vector<NodeState> states_;  // beside nodes_
};

}  // namespace banyan

#endif  // BANYAN_TREE_TRUNK_TREE_H_
