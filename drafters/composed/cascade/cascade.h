// Vertical cascade: a drafter that is drafted for by a cheaper one (Cascade
// Speculative Drafting, Chen et al., arXiv:2312.11462; Staged speculation,
// Spector and Re, arXiv:2308.04623).
//
// Claim. Proposals are those of `upper`, to the last bit, and so are the draws;
// `upper` never makes more passes.
//
// Rule. Where it is asked for nodes whose proposals are not known, `lower`
// guesses what will be drawn below them: its `width` likeliest tokens at each
// node, `ahead` levels deep. `upper` is asked for the nodes and the guessed
// ones in one pass. What is then asked for a node that was guessed is answered
// without a pass.
//
// Why. A proposal depends on the text and the node's path alone, not on who is
// asked for beside it (Drafter::ProposeAll). A guess is drawn by nobody: it
// only decides what is computed early. Each pass answers a request that had to
// be answered, so there are at most as many.
//
// The papers verify the lower draft by speculative sampling, and draw what the
// upper accepts. That is the same at temperature 0. Elsewhere their draws are
// coupled with the guess, and accepted with chance sum min(q, q'); here draws
// come from Chance alone, so a guess x is right with chance q(x). In return
// nothing of the law hangs on the lower drafter, so it may merely rank.
//
// Where `lower` has no guess, or either drafter is at the end of what it holds,
// less is guessed. At most `ahead` passes of `lower` stand before each of
// `upper`. `lower` may be a cascade.
#ifndef BANYAN_DRAFTERS_COMPOSED_CASCADE_CASCADE_H_
#define BANYAN_DRAFTERS_COMPOSED_CASCADE_CASCADE_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/composed/drafter_of_drafters.h"
#include "drafters/composed/inner_drafter.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"

namespace banyan {

struct CascadeOptions {
  int ahead = 4;  // levels
  int width = 1;  // guesses a node
  // The target's context: nothing is asked for behind it.
  int context_limit = 0;
};

class Cascade : public DrafterOfDrafters {
 public:
  // Keys: `upper`, `lower`, `ahead`, `width`.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  // Of two parts, the upper one first, which proposes ahead.
  Cascade(InnerDrafters parts, const CascadeOptions& options);

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<Cascade>(parts().Clone(), options_);
  }
  std::vector<DraftLaw> laws() const override {
    return parts()[0].drafter().laws();
  }
  int heads() const override { return parts()[0].drafter().heads(); }
  int longest_text() const override {
    return parts()[0].drafter().longest_text();
  }
  std::optional<double> Promise(const Context& context) const override {
    return parts()[0].drafter().Promise(context);
  }
  bool proposes_ahead() const override { return true; }
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override;

 private:
  // A request under way, in nodes of the upper part's tree.
  struct Asking {
    InnerDrafter::Question upper;
    std::vector<int> edge;  // whose children are guessed next
  };

  InnerDrafter& upper() { return parts()[0]; }
  InnerDrafter& lower() { return parts()[1]; }
  Asking Ask(const DraftRequest& request);
  bool MayGuess(const Context& context, int node) const;
  std::vector<int> Guess(int node, const Distribution& law);
  static absl::Status GuessLevel(absl::Span<const DraftRequest> requests,
                                 std::vector<Asking>& asking);

  CascadeOptions options_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_COMPOSED_CASCADE_CASCADE_H_
