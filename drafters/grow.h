// Grow: the one place where draft tokens are drawn.
#ifndef BANYAN_DRAFTERS_GROW_H_
#define BANYAN_DRAFTERS_GROW_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/random/random_source.h"
#include "drafters/drafter.h"
#include "tree/draft_tree.h"
#include "tree/growing_tree.h"
#include "tree/tree_policy.h"

namespace banyan {

// A drafter with the policy that shapes its tree and the law it draws by.
struct TrunkView {
  Drafter& drafter;
  const TreePolicy& policy;
  DraftLaw law;
  int trunk;  // its place among the trunks
};

struct GrowLimits {
  int max_depth = 0;                           // levels below the root
  absl::Span<const TokenId> end_of_text = {};  // nothing is drafted below these
};

// A growth under way: it asks for proposals and is answered, so that several
// sequences can be answered together.
//
//   Growth growth(trunk, context, limits, chance);
//   BANYAN_RETURN_IF_ERROR(growth.Advance());
//   while (!growth.wanted().empty()) {
//     ... one proposal for each node of growth.wanted() ...
//     BANYAN_RETURN_IF_ERROR(growth.Answer(std::move(proposals)));
//   }
//   GrowingTree tree = std::move(growth).Take();
//
// Asks the policy until it has nothing more to expand; wants proposals for all
// nodes it names that have none, else draws:
//   independent: each draw anew from the proposal;
//   without replacement: until its mass is used up;
//   deterministic: the next largest masses, ties towards the lower id.
class Growth {
 public:
  // What `trunk` and `context` refer to outlives the growth.
  Growth(const TrunkView& trunk, const Context& context,
         const GrowLimits& limits, const Chance& chance);

  // Draws until proposals are wanted, or nothing more. Fails if the policy
  // shares draws between nodes whose proposals differ.
  absl::Status Advance();
  // The nodes whose proposals are wanted; none: the tree is grown.
  const std::vector<int>& wanted() const { return wanted_; }
  DraftRequest Request() const;
  // Takes one proposal for each of wanted() and advances.
  absl::Status Answer(std::vector<Distribution> proposals);
  // The tree. Requires that nothing is wanted.
  GrowingTree Take() &&;

 private:
  std::vector<int> WithoutProposal(const std::vector<Expansion>& next) const;
  absl::Status Expand(const Expansion& expansion);
  TokenId DrawToken(int node, int number) const;
  void Record(int node, TokenId token, double keep_at_least);
  absl::Status Share(const Expansion& expansion);
  bool Final(int node) const;

  TrunkView trunk_;
  const Context& context_;
  GrowLimits limits_;
  Chance chance_;
  GrowingTree tree_;
  std::vector<int> wanted_;
};

// Grows them all, answering in one ProposeAll() whoever wants proposals.
// Requires that the drafters are clones of one. Fails as drafter or growth do.
absl::Status GrowAll(absl::Span<Growth> growths);

// Grows one tree.
absl::StatusOr<GrowingTree> Grow(const TrunkView& trunk, const Context& context,
                                 const GrowLimits& limits,
                                 const Chance& chance);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_GROW_H_
