// Drafting: the one place where draft tokens are drawn.
#ifndef BANYAN_DRAFTERS_DRAFTING_H_
#define BANYAN_DRAFTERS_DRAFTING_H_

#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/random/random_source.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/tree_policy.h"
#include "tree/trunk_tree.h"

namespace banyan {

// A drafter with a session of it, the policy that shapes its tree and the draw
// kind.
struct TrunkView {
  Drafter& drafter;
  DraftSession& session;
  const TreePolicy& policy;
  DrawKind draw_kind;
  int trunk;  // its place among the trunks
};

struct DraftLimits {
  int max_depth = 0;                           // levels below the root
  absl::Span<const TokenId> end_of_text = {};  // nothing is drafted below these
};

// Drafts one tree: asks for proposals and is answered, so that several
// sequences can be answered together.
//
//   Drafting drafting(trunk, context, limits, chance);
//   BANYAN_RETURN_IF_ERROR(drafting.Advance());
//   while (!drafting.wanted().empty()) {
//     ... one proposal for each node of drafting.wanted() ...
//     BANYAN_RETURN_IF_ERROR(drafting.Answer(std::move(proposals)));
//   }
//   TrunkTree tree = std::move(drafting).Take();
//
// Asks the policy until it has nothing more to expand; wants proposals for all
// nodes it names that have none, else draws:
//   independent: each draw anew from the proposal;
//   without replacement: until its mass is used up;
//   deterministic: the next largest masses, ties towards the lower id.
class Drafting {
 public:
  // What `trunk` and `context` refer to outlives the drafting. `now` is the
  // number in time of its first draw: the draws of trunks drafted before it.
  Drafting(const TrunkView& trunk, const Context& context,
           const DraftLimits& limits, const Chance& chance, int now = 0);

  // Draws until proposals are wanted, or nothing more. Fails if the policy
  // shares draws between nodes whose proposals differ.
  absl::Status Advance();
  // The nodes whose proposals are wanted; none: the tree is drafted.
  const std::vector<int>& wanted() const { return wanted_; }
  DraftRequest Request() const;
  Drafter& drafter() const { return trunk_.drafter; }
  // Takes one proposal for each of wanted() and advances.
  absl::Status Answer(Proposals proposals);
  // The tree. Requires that nothing is wanted.
  TrunkTree Take() &&;

 private:
  std::vector<int> WithoutProposal(const std::vector<Expansion>& next) const;
  absl::Status Expand(const Expansion& expansion);
  TokenId DrawToken(int node, int number) const;
  void Record(int node, TokenId token, double keep_at_least);
  absl::Status Share(const Expansion& expansion);
  bool Final(int node) const;

  TrunkView trunk_;
  const Context& context_;
  DraftLimits limits_;
  Chance chance_;
  TrunkTree tree_;
  std::vector<int> wanted_;
};

// Drafts them all, answering all that want proposals in one call of the
// drafter. Requires that the sessions are of one drafter. Fails as drafter or
// drafting does.
absl::Status DraftAll(absl::Span<Drafting> draftings);

// Drafts one tree.
absl::StatusOr<TrunkTree> DraftTrunk(const TrunkView& trunk,
                                     const Context& context,
                                     const DraftLimits& limits,
                                     const Chance& chance);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_DRAFTING_H_
