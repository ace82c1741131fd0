// PaSS: trained vectors in the place of the tokens to come.
//
// A chain of L links is planted below nodes of the tree as probes. Each link's
// row starts from a vector that was trained for the target, and reads the
// node's text and the links before it. So in the pass that judges this round's
// tree, the target also guesses what comes later. Let n be the last accepted
// node, and t the token the target gave after it, which is the next root. The
// row of link i is i places after n, where t is the first. It gives the
// distribution of the token after that place: that of the next tree's nodes at
// depth i, whatever their path.
//
// Proposals are the sampling rule's distributions of these rows' logits, drawn
// from independently or without replacement; for deterministic drafting their
// masses rank the candidates. Nothing is drafted in the round after the prompt,
// nor after a round whose last accepted node had no chain. A node has none if
// it was not among the `after` nodes of its tree with the largest product of
// drafter's masses along the path (the earlier one in a tie), or if the context
// ended.
//
// Cases. With `tokens` in the place of trained vectors the links are ordinary
// tokens, padding or a mask: what came before there was anything to train.
// Where the context ends within a chain, its first links are planted and give
// the first depths. Not covered: vectors that the target's layers were trained
// along with, and rows that keep a chain of their own from round to round.
//
// Reference: Monea, Joulin, Grave, "PaSS: Parallel Speculative Sampling"
// (arXiv:2311.13581).
#ifndef BANYAN_DRAFTERS_HEADS_PASS_PASS_H_
#define BANYAN_DRAFTERS_HEADS_PASS_PASS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/prob/sampling_rule.h"
#include "drafters/draft_rules.h"
#include "drafters/drafter.h"
#include "drafters/heads/pass/chain.h"
#include "drafters/row.h"

namespace banyan {

class Pass : public Drafter {
 public:
  // `after` nodes of a tree have the chain, at least 1.
  Pass(std::shared_ptr<const LookaheadChain> chain, int after,
       SamplingRule rule);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  std::shared_ptr<const LookaheadChain> chain_;
  int after_;
  DraftRules rules_;
};

DrafterRow PassRow();

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_PASS_PASS_H_
