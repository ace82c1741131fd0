// Medusa: heads on the target's last hidden state as drafter.
//
// Head i guesses the token i + 2 places after the token whose state it reads.
// The newest state is that of the token before the root, so head i gives the
// law of the nodes at depth i + 1, whatever their path: drafting takes no pass
// of the target, and no more than one of the heads. Below the last head, and
// after a prompt of one token, there is nothing to propose.
//
// Proposals are the sampling rule's laws of the heads' logits, drawn from
// independently or without replacement; for deterministic drafting their masses
// rank the candidates, which is how Medusa was published (Cai et al.,
// arXiv:2401.10774).
#ifndef BANYAN_DRAFTERS_HEADS_MEDUSA_MEDUSA_H_
#define BANYAN_DRAFTERS_HEADS_MEDUSA_MEDUSA_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/heads/medusa/heads.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class Medusa : public Drafter {
 public:
  // Keys: `heads`, and `sampling` for a rule of its own.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  Medusa(std::shared_ptr<const MedusaHeads> heads, SamplingRule rule);

  std::unique_ptr<Drafter> Clone() const override {
    return std::make_unique<Medusa>(*this);
  }
  std::vector<DraftLaw> laws() const override;
  bool proposes_ahead() const override { return true; }
  std::vector<int> taps() const override;
  int heads() const override { return heads_->count(); }
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override;
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override;
  absl::StatusOr<DrafterTwin> OnDevice(DraftLaw law) override;
  void Resume(const Context& /*context*/) override { logits_.clear(); }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  // Whether the heads have not been asked this round, and there is a state.
  bool Unread(const Context& context) const {
    return logits_.empty() && context.features.rows > 0;
  }

  std::shared_ptr<const MedusaHeads> heads_;
  SamplingRule rule_;
  SamplingRule ranking_;  // for deterministic draws
  // By head, of this round; empty until it was asked for.
  std::vector<std::vector<double>> logits_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_MEDUSA_MEDUSA_H_
