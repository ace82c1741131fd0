// Horizontal cascade: another drafter for each span of a tree's levels (Cascade
// Speculative Drafting, Chen et al., arXiv:2312.11462; Staged speculation,
// Spector and Re, arXiv:2308.04623).
//
// Claim. The best drafter is worth its cost where its tokens are likely to be
// reached, near the root; a token far from it is seldom reached, so a cheaper
// drafter may guess it.
//
// Rule. The spans follow one another, each of its `levels`; the last one has
// the rest. A node at depth d is proposed for by the drafter whose span has
// level d + 1.
//
// A drafter of a later span was not asked for the nodes above it, which it must
// know. It is asked for them together with the first nodes of its span or, if
// it does not propose ahead, before them, level by level. These are extra
// passes, for what another drafter drafted.
//
// A tree has one draw kind, so the relay gives those that all drafters give.
// Where a drafter cannot be asked for a node, at the end of what it holds, it
// proposes nothing there.
#ifndef BANYAN_DRAFTERS_COMPOSED_RELAY_RELAY_H_
#define BANYAN_DRAFTERS_COMPOSED_RELAY_RELAY_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "drafters/composed/composed_drafter.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"

namespace banyan {

class Relay : public ComposedDrafter {
 public:
  // `ends`: by part, but for the last, how many levels have been drafted when
  // its span ends; ascending.
  Relay(InnerDrafters parts, std::vector<int> ends);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  int PartAt(int depth) const;

  std::vector<int> ends_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_RELAY_RELAY_H_
