// Grow: the one place where draft tokens are drawn.
#ifndef BANYAN_DRAFTERS_GROW_H_
#define BANYAN_DRAFTERS_GROW_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/context.h"
#include "core/base/token.h"
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

// Asks the policy until it has nothing more to expand; proposes for all nodes
// it names that have no proposal in one pass of the drafter, then draws.
//   independent: each draw anew from the proposal;
//   without replacement: until its mass is used up;
//   deterministic: the next largest masses, ties towards the lower id.
// Fails as the drafter fails, or if the policy shares draws between nodes whose
// proposals differ.
absl::StatusOr<GrowingTree> Grow(const TrunkView& trunk, const Context& context,
                                 const GrowLimits& limits,
                                 const Chance& chance);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_GROW_H_
