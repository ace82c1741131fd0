// DraftTree: one merged token trie with the draws that made it.
//
// Nodes are for scoring: siblings are distinct tokens, so a token drawn twice
// is scored once. Draws are for verification: every draw is kept, with its
// number in time, because a verifier that forgets a repeated draw is biased,
// and so is one that judges draws in another order (tree_policy.h).
//
// Invariants (CheckInvariants):
//   1. Node 0 is the root: the last committed token, depth 0.
//   2. Nodes stand in depth-first order: a parent before its children, a
//      subtree without gaps, children in the order of time of their first
//      draws.
//   3. Siblings that are not probes have distinct tokens.
//   4. A kept draw points to a child of its node with its token; every node
//      but the root and the probes is pointed to by at least one draw.
//   5. A node holds at most one draw list per trunk, in the order of trunks.
//      The numbers in time rise along a list, no two draws of the tree have the
//      same, and a node was drawn before anything was drawn at it.
//   6. A draw's proposal gives a kept token mass; a dropped token, none.
//   7. A deterministic draw's proposal is one-hot; if it was dropped, empty.
//   8. Probes have no draws; a probe's children are probes; nothing else has a
//      vector.
#ifndef BANYAN_TREE_DRAFT_TREE_H_
#define BANYAN_TREE_DRAFT_TREE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/prob/distribution.h"
#include "core/prob/draw_kind.h"

namespace banyan {

// "independent", "without_replacement", "deterministic".
absl::string_view Name(DrawKind draw_kind);
// All of kDrawKinds, as traits list them.
std::vector<DrawKind> EveryDrawKind();

// What a drafter says about the token after a node.
struct Proposal {
  // Of a distribution that left rounding errors the total is not quite 1.
  Distribution q;
  // True if the masses are scores, which only order the candidates: nothing may
  // be drawn from them.
  bool ranked = false;
  // The token of the largest mass; -1: nobody looked.
  TokenId favourite = -1;
};

struct Draw {
  static constexpr int kDropped = -1;

  TokenId token = 0;
  // Its number among the round's draws, of all trunks, in the order in which
  // they were made. Draws that were pruned leave gaps.
  int time = 0;
  // The node it led to; kDropped if it was given up after it was drawn.
  int child = kDropped;
  // The distribution that the draw is judged by: the one it was drawn from,
  // restricted to the tokens that would have been kept, not renormalised.
  Distribution proposal;

  bool dropped() const { return child == kDropped; }
};

// What one trunk drew at one node, in the order of time.
struct DrawList {
  int trunk = 0;
  DrawKind draw_kind = DrawKind::kIndependent;
  // True if these are another node's draws, used again here.
  bool shared_draws = false;
  // The drafter's whole output for the next token.
  Proposal proposal;
  std::vector<Draw> draws;
};

struct Node {
  static constexpr int kNoParent = -1;
  static constexpr int kNoProbe = -1;

  TokenId token = 0;
  int parent = kNoParent;
  int depth = 0;
  // The trunk that planted this probe: a node that is scored and handed back at
  // commit, but never drawn or verified.
  int probe_of = kNoProbe;
  // What a probe's row starts from in the place of its token's embedding, which
  // then only names it; null: from that.
  std::shared_ptr<const std::vector<float>> vector = nullptr;
  std::vector<int> children;  // probes last
  std::vector<DrawList> lists;

  bool probe() const { return probe_of != kNoProbe; }
};

// Every draw at a node, of all trunks, in the order of time.
std::vector<const Draw*> DrawsInTime(const Node& node);

class DraftTree {
 public:
  // Requires the invariants.
  explicit DraftTree(std::vector<Node> nodes);

  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& node(int index) const {
    return nodes_[static_cast<std::size_t>(index)];
  }
  absl::Span<const Node> nodes() const { return nodes_; }
  // The child of `parent` with this token, probes aside; -1 if there is none.
  int Child(int parent, TokenId token) const;
  // The largest depth of a node that can be accepted; 0 for a bare root.
  int Height() const;
  // How many nodes can be accepted: neither the root nor probes.
  int Drafted() const;

 private:
  std::vector<Node> nodes_;
};

// OK, or which invariant fails at which node.
absl::Status CheckInvariants(absl::Span<const Node> nodes);

}  // namespace banyan

#endif  // BANYAN_TREE_DRAFT_TREE_H_
