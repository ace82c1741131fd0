// Early exit: the target's first layers, with its own final norm and head,
// draft for all of them (LayerSkip, Elhoushi et al., arXiv:2404.16710).
//
// Drafting takes no weights and no cache of its own: the view reads what the
// target has committed. The target's pass goes on from the rows that the view
// has scored, so their first layers are computed once.
//
// With several exits the earliest drafts whose distribution has settled: its
// largest mass is at least `settled`. A row that has not goes on to the next
// exit, and its ancestors with it. So a node's proposal is a function of its
// path, and may be drawn from.
#ifndef BANYAN_DRAFTERS_TARGET_EARLY_EXIT_EARLY_EXIT_H_
#define BANYAN_DRAFTERS_TARGET_EARLY_EXIT_EARLY_EXIT_H_

#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/target/view_drafter.h"

namespace banyan {

class EarlyExit : public Drafter {
 public:
  EarlyExit(std::shared_ptr<const Model> target, std::vector<int> exits,
            double settled, SamplingRule rule);

  std::unique_ptr<DraftSession> NewSession() const override;
  absl::StatusOr<std::vector<Proposals>> Propose(
      absl::Span<const DraftRequest> requests) override;

 private:
  friend class EarlyExitSession;

  std::vector<std::unique_ptr<ViewDrafter>> stages_;  // one an exit
  double settled_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_EARLY_EXIT_EARLY_EXIT_H_
