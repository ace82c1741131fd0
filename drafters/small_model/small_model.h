// A language model as drafter: its own session follows the committed text, and
// all open nodes of a level are scored in one tree pass.
//
// It reads the prompt when it begins, as the target does. After a round it
// keeps the rows of the accepted path. What it has not seen (the token after
// the path; another trunk's nodes; the last node of a fully accepted chain,
// which it drafted but never read) it reads in the pass of the next root, so
// its cache has no holes.
//
// Proposals are its sampling rule's laws. To rank candidates at temperature 0,
// where that law knows one token only, it takes the masses of temperature 1.
#ifndef BANYAN_DRAFTERS_SMALL_MODEL_SMALL_MODEL_H_
#define BANYAN_DRAFTERS_SMALL_MODEL_SMALL_MODEL_H_

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
#include "drafters/drafter.h"
#include "drafters/pending_tree.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class SmallModel : public Drafter {
 public:
  // Keys: `model`, and `sampling` for a rule of its own.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  SmallModel(std::shared_ptr<const Model> model, SamplingRule rule);

  std::unique_ptr<Drafter> Clone() const override;
  std::vector<DraftLaw> laws() const override;
  int longest_text() const override { return model_->context_limit(); }
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override {
    return ProposeAlone(context, tree, nodes);
  }
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override;
  absl::StatusOr<DrafterTwin> OnDevice(DraftLaw law) override;
  void Resume(const Context& /*context*/) override { pending_.Clear(); }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  absl::StatusOr<TokenBatch> BatchOf(const DraftRequest& request);
  // The committed text that the session has not read, the root aside.
  absl::Span<const TokenId> Unread(const Context& context) const;
  absl::Status StartRound(const Context& context);
  absl::StatusOr<std::vector<Distribution>> LawsOf(const DraftRequest& request,
                                                   const TokenBatch& batch,
                                                   const Scores& scores);

  std::shared_ptr<const Model> model_;
  SamplingRule rule_;
  SamplingRule ranking_;  // for deterministic draws
  std::unique_ptr<Session> session_;
  PendingTree pending_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_SMALL_MODEL_SMALL_MODEL_H_
