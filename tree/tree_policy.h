// TreePolicy: decides the shape of a trunk's tree while it is drafted.
//
// Drafting (drafters/drafting.h) asks Next() until it returns nothing. If a
// node it names has no proposal yet, the drafter proposes for all such nodes
// together in one pass and Next() is asked again, so a policy can look at a
// proposal before it spends a draw on it. Otherwise the draws are made.
//
// Any policy that keeps this rule preserves the output distribution: whether a
// draw is made, and from which distribution, may depend on everything drawn
// before it, never on its own value or a later one; a draw once made stays,
// kept or dropped. Next() sees exactly what was drawn before, and
// `keep_at_least` is the only way to drop, so a policy that uses nothing else
// cannot break the rule.
//
// Lemma. A verifier is right for every shape that keeps the rule if, averaged
// over the value of the draw made last, its output distribution is that of the
// tree without that draw. (Proof: take a last draw after which none is made,
// whatever its value, out of the growth; by induction all go, and a bare root
// emits a draw from the target. docs/losslessness.md has it in full, with the
// verifiers that satisfy it.) Where several trunks draw at one node, it is the
// order of time (Draw::time) that makes the lemma hold, however they took
// turns.
#ifndef BANYAN_TREE_TREE_POLICY_H_
#define BANYAN_TREE_TREE_POLICY_H_

#include <memory>
#include <optional>
#include <vector>

#include "core/round/plan.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

struct Expansion {
  int node = 0;
  int draws = 1;
  // Draws whose token has less mass than this in the distribution it is drawn
  // from (in the proposal, for deterministic draws) are dropped: they count as
  // refused and get no child.
  double keep_at_least = 0;
  // Use the draws of this node again instead of drawing; -1 draws anew. Both
  // nodes must have the same proposal.
  int same_as = -1;
};

struct PolicyTraits {
  // The draw kinds that the policy can draft with.
  std::vector<DrawKind> draw_kinds;
  // At most one draw a node, at most one expanded child.
  bool chain = false;
  // Which nodes it drafts depends on what the drafter proposes, or on earlier
  // rounds.
  bool adapts = false;
  // The number of draws at a node is fixed before the first of them.
  bool fixed_counts = false;
  // Some draws are used at several nodes.
  bool shares_draws = false;
  // What it hands to the target in a round at most: nodes, the root not
  // counted.
  int nodes = 0;
  int levels = 0;  // of its tree at most; each takes one pass to draft
  // Of a policy of all drafters: for how many it was made; 0: for any.
  int drafters = 0;
};

// The most draws that a policy may make in a round. A node keeps its proposal,
// a number for each token, until the round ends; a pass scores all of them.
inline constexpr int kMaxDraws = 4096;

class MethodPolicy;  // tree/method_policy.h

class TreePolicy {
 public:
  virtual ~TreePolicy() = default;

  virtual PolicyTraits traits() const = 0;
  // Another one in the same state: every sequence has its own.
  virtual std::unique_ptr<TreePolicy> Clone() const = 0;

  // What to draw next. Depends on the tree and on committed state only. Names
  // open nodes only, each at most once.
  virtual std::vector<Expansion> Next(const TrunkTree& tree) const = 0;

  // This one, if it shapes the tree of all drafters of a method; null: it
  // shapes one trunk's.
  virtual const MethodPolicy* of_method() const { return nullptr; }

  // The nodes to keep once Next() has returned nothing, closed under parents.
  // Only a policy whose sole draw kind is deterministic may leave nodes out;
  // the default keeps all.
  virtual std::vector<int> Keep(const TrunkTree& tree) const;

  // What a device drafts that runs rounds without the host; none: it cannot.
  virtual std::optional<RoundShape> device_shape() const {
    return std::nullopt;
  }

  // Committed state carries over from round to round, and Observe() alone
  // changes it. State() lists all of it: policies of one method that list the
  // same draw alike from then on. A policy without memory lists nothing.
  virtual void Observe(const RoundOutcome& /*outcome*/) {}
  virtual std::vector<double> State() const { return {}; }
};

}  // namespace banyan

#endif  // BANYAN_TREE_TREE_POLICY_H_
