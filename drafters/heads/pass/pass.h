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
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/propose.h"

namespace banyan {

// What stands in the place of the tokens to come, link by link, so that the
// target guesses what follows them.
struct LookaheadLink {
  TokenId token =
      0;  // names the row of a vector, and is what one without reads
  std::shared_ptr<const std::vector<float>> vector = nullptr;
};
using LookaheadChain = std::vector<LookaheadLink>;

// The trained vectors in a folder: the tensor `lookahead.embeddings`
// [L, hidden_size] of model.safetensors, with the sizes of the target that they
// were trained for in config.json. NotFound if a file is not there;
// InvalidArgument, which names file and key or tensor, if they are for a target
// of other sizes than this one, or are not finite.
absl::StatusOr<std::unique_ptr<const LookaheadChain>> LoadLookaheadChain(
    const std::string& folder, const Model& target);

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

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_PASS_PASS_H_
