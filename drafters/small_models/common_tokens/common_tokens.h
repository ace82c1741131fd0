// A language model of another vocabulary as drafter, by the tokens that both
// have.
//
// Claim. Every proposal is a distribution over the target's vocabulary that
// tokens are drawn from. So every lossless verifier that takes draws stays
// lossless.
//
// Rule. The model reads the committed text in its own tokens (OwnReader), and
// below it each node's token as the same one of its vocabulary (VocabularyMap).
// Of its logits those of the common tokens are kept, as the target's tokens;
// every other one has none. The sampling rule is applied to that row:
//
//   q(x) = softmax(l(m(x)) / T) over x in C,  C = common, m(x) the drafter's x
//
// which is the model's distribution restricted to C and normalised. A rule that
// names tokens or reads earlier text means the target's tokens.
//
// Cases. A token of the target that is not in C is never drafted: `banyan
// doctor` says what share of a text is in C. Below a node whose token is not in
// C, drafted by another trunk, and where no token of C has mass, the branch
// ends. Nothing is drafted after a character that is cut where the drafter
// lacks the token that cut it, nor after more tokens than the model holds.
//
// What differs from the publication (arXiv 2502.05202, token-level
// intersection): trees, and a text that is cut anew in its last tokens alone.
#ifndef BANYAN_DRAFTERS_SMALL_MODELS_COMMON_TOKENS_COMMON_TOKENS_H_
#define BANYAN_DRAFTERS_SMALL_MODELS_COMMON_TOKENS_COMMON_TOKENS_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/tokenizer/vocabulary.h"
#include "drafters/drafter.h"
#include "drafters/propose.h"
#include "drafters/small_models/own_reader.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"

namespace banyan {

class CommonTokens : public Drafter {
 public:
  // `vocab_size` is the target's. There may be no common token.
  CommonTokens(int vocab_size, OtherModel model, const SamplingRule& rule);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  friend class CommonTokensSession;

  absl::StatusOr<Distribution> LawOf(const DraftRequest& request, int node,
                                     absl::Span<const double> own) const;

  int vocab_size_;
  OtherModel model_;
  DraftRules rules_;
  // The common tokens that the rule lets be emitted.
  std::vector<VocabularyMap::Pair> drafted_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_SMALL_MODELS_COMMON_TOKENS_COMMON_TOKENS_H_
