// EAGLE: a network on the target's hidden states as drafter (Li et al.,
// arXiv:2401.15077, 2406.16858, 2503.01840), and multi-token prediction, which
// is the same network with other names.
//
// Its session holds a pair for each token of the committed text but the first:
// the token with the target's states before it (layouts.h). After a round it
// reads the pairs of what was committed, with the target's own states; the last
// of them has the root. In a round all open nodes of a level are one pass, each
// with what came out of its parent's pair in the place of the states. So below
// the root a draft is as good as the network's own guess at the states.
//
// Proposals are its rules' distributions. After a prompt of one token there is
// nothing to read, and no proposal.
#ifndef BANYAN_DRAFTERS_HEADS_EAGLE_EAGLE_H_
#define BANYAN_DRAFTERS_HEADS_EAGLE_EAGLE_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/heads/eagle/head.h"
#include "drafters/propose.h"

namespace banyan {

class Eagle : public Drafter {
 public:
  Eagle(std::shared_ptr<const EagleHead> head, SamplingRule rule);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  friend class EagleSession;

  std::shared_ptr<const EagleHead> head_;
  DraftRules rules_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_HEADS_EAGLE_EAGLE_H_
