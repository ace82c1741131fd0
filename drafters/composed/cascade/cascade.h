// Vertical cascade: a drafter that is drafted for by a cheaper one (Cascade
// Speculative Drafting, Chen et al., arXiv:2312.11462; Staged speculation,
// Spector and Re, arXiv:2308.04623).
//
// Claim. Proposals and draws are bit-identical to those of `upper` alone, and
// `upper` never makes more passes.
//
// Rule. Where it is asked for nodes whose proposals are not known, `lower`
// guesses what will be drawn below them: its `width` likeliest tokens at each
// node, `ahead` levels deep. `upper` is asked for the nodes and the guessed
// ones in one pass. What is then asked for a node that was guessed is answered
// without a pass.
//
// Why. A proposal depends on the text and the node's path alone, not on who is
// asked for beside it (Drafter::Propose). A guess is drawn by nobody: it
// only decides what is computed early. Each pass answers a request that had to
// be answered, so there are at most as many.
//
// The papers verify the lower draft by speculative sampling, and draw what the
// upper accepts. That is the same at temperature 0. Elsewhere their draws are
// coupled with the guess, and accepted with chance sum min(q, q'). Here draws
// come from Chance alone, so a guess x is right with chance q(x). In return no
// distribution depends on the lower drafter, so it may merely rank.
//
// Where `lower` has no guess, or either drafter is at the end of what it holds,
// less is guessed. At most `ahead` passes of `lower` stand before each of
// `upper`. `lower` may be a cascade.
#ifndef BANYAN_DRAFTERS_COMPOSED_CASCADE_CASCADE_H_
#define BANYAN_DRAFTERS_COMPOSED_CASCADE_CASCADE_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "drafters/composed/composed_drafter.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"

namespace banyan {

struct CascadeOptions {
  int ahead = 4;  // levels
  int width = 1;  // guesses a node
  // The target's context: nothing is asked for beyond it.
  int context_limit = 0;
};

class Cascade : public ComposedDrafter {
 public:
  // Of two parts, the upper one first, which proposes ahead.
  Cascade(InnerDrafters parts, const CascadeOptions& options);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  CascadeOptions options_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_CASCADE_CASCADE_H_
