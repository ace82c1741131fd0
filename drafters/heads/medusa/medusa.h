// Medusa: heads on the target's last hidden state as drafter.
//
// Head i guesses the token i + 2 places after the token whose state it reads.
// The newest state is that of the token before the root, so head i gives the
// distribution of the nodes at depth i + 1, whatever their path. Drafting takes
// no pass of the target, and no more than one of the heads. Below the last
// head, and after a prompt of one token, there is nothing to propose.
//
// Proposals are the sampling rule's distributions of the heads' logits, drawn
// independently or without replacement; for deterministic drafting their masses
// rank the candidates, which is how Medusa was published (Cai et al.,
// arXiv:2401.10774).
//
// Heads of a grown target are opened here too.
#ifndef BANYAN_DRAFTERS_HEADS_MEDUSA_MEDUSA_H_
#define BANYAN_DRAFTERS_HEADS_MEDUSA_MEDUSA_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/head_tools.h"
#include "drafters/heads/medusa/heads.h"
#include "drafters/propose.h"

namespace banyan {

// Medusa heads as `banyan grow` asks for them (drafters/head_tools.h).

// Facts: `heads`, `blocks` of each, and `own_matrices`, whether each has an
// output matrix of its own. Fails as MedusaFile::Open.
absl::StatusOr<GrowableHeads> OpenGrowableMedusa(const std::string& directory,
                                                 const GrowingTarget& target);

class Medusa : public Drafter {
 public:
  Medusa(std::shared_ptr<const MedusaHeads> heads, SamplingRule rule);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  friend class MedusaSession;

  std::shared_ptr<const MedusaHeads> heads_;
  DraftRules rules_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_MEDUSA_MEDUSA_H_
