// A language model of another vocabulary as drafter, by the tokens that both
// have.
//
// Claim. Every proposal is a law over the target's vocabulary that tokens are
// drawn from, so every verifier that takes a drawn law keeps the target's.
//
// Rule. The model reads the committed text in its own tokens (OwnReader), and
// below it each node's token as the same one of its vocabulary (VocabularyMap).
// Of its logits those of the common tokens are kept, as the target's tokens;
// every other one has none. The sampling rule is applied to that row:
//
//   q(x) = softmax(l(m(x)) / T) over x in C,  C = common, m(x) the drafter's x
//
// which is its law restricted to C and normalised. A rule that names tokens or
// looks back means the target's.
//
// Cases. A token of the target that is not in C is never drafted: `banyan
// doctor` says what share of a text is in C. Below a node whose token is not in
// C, drafted by another trunk, and where no token of C has mass, the branch
// ends. Nothing is drafted behind a character that is cut where the drafter
// lacks the token that cut it, nor behind more tokens than the model holds.
//
// What differs from the publication (arXiv 2502.05202, token-level
// intersection): trees, and a text that is cut anew in its last tokens alone.
#ifndef BANYAN_DRAFTERS_MODELS_COMMON_TOKENS_COMMON_TOKENS_H_
#define BANYAN_DRAFTERS_MODELS_COMMON_TOKENS_COMMON_TOKENS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "core/tokenizer/vocabulary_map.h"
#include "drafters/drafter.h"
#include "drafters/models/own_reader.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class CommonTokens : public Drafter {
 public:
  // Keys: `model`, and `sampling` for a rule of its own.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  // `vocab_size` is the target's. There may be no common token.
  CommonTokens(int vocab_size, OtherModel model, SamplingRule rule);

  std::unique_ptr<Drafter> Clone() const override;
  std::vector<DraftLaw> laws() const override;
  bool proposes_ahead() const override { return true; }
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override {
    return ProposeAlone(context, tree, nodes);
  }
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  // What is scored for one sequence: the rows of those nodes that can be, last.
  struct Asked {
    TokenBatch batch;
    std::vector<int> nodes;
  };

  absl::StatusOr<Asked> Ask(const DraftRequest& request);
  bool CanScore(const TrunkTree& tree, int node,
                absl::Span<const int> asked) const;
  absl::StatusOr<std::vector<Distribution>> Answer(const DraftRequest& request,
                                                   const Asked& asked,
                                                   const Scores* scores);
  absl::StatusOr<Distribution> LawOf(const DraftRequest& request, int node,
                                     absl::Span<const double> own) const;

  int vocab_size_;
  OtherModel model_;
  SamplingRule rule_;
  SamplingRule ranking_;  // for deterministic draws
  // The common tokens that the rule lets be emitted.
  std::vector<VocabularyMap::Pair> drafted_;
  OwnReader reader_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_MODELS_COMMON_TOKENS_COMMON_TOKENS_H_
