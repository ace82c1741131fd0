// Early exit: the target's first layers, with its own final norm and head,
// draft for all of them (LayerSkip, Elhoushi et al., arXiv:2404.16710).
//
// Drafting takes no weights and no cache of its own: the view reads what the
// target has committed. The target's pass goes on from the rows that the view
// has scored, so their first layers are computed once.
//
// With several exits the earliest drafts whose law has settled: whose largest
// mass is at least `settled`. A row that has not goes on to the next exit, and
// its ancestors with it. So a node's proposal is a function of its path, and
// may be drawn from.
#ifndef BANYAN_DRAFTERS_TARGET_EARLY_EXIT_EARLY_EXIT_H_
#define BANYAN_DRAFTERS_TARGET_EARLY_EXIT_EARLY_EXIT_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/distribution.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/target/view_drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class EarlyExit : public Drafter {
 public:
  // Keys: `exits`, so many layers each, ascending; `settled`, with more than
  // one; and `sampling` for a rule of its own.
  static absl::StatusOr<std::unique_ptr<Drafter>> Build(ParamsReader& in,
                                                        Workbench& bench);

  EarlyExit(std::shared_ptr<const Model> target, std::vector<int> exits,
            double settled, SamplingRule rule);

  std::unique_ptr<Drafter> Clone() const override;
  std::vector<DraftLaw> laws() const override { return first().laws(); }
  int longest_text() const override { return first().longest_text(); }
  bool proposes_ahead() const override { return true; }
  absl::Status TakeViews(Session& target) override;
  absl::Status Begin(const Context& context) override;
  absl::StatusOr<std::vector<Distribution>> Propose(
      const Context& context, const TrunkTree& tree,
      absl::Span<const int> nodes) override {
    return ProposeAlone(context, tree, nodes);
  }
  absl::StatusOr<std::vector<std::vector<Distribution>>> ProposeAll(
      absl::Span<const DraftRequest> requests) override;
  DoneRows Computed(const DraftTree& tree) const override {
    return first().Computed(tree);
  }
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

 private:
  const ViewDrafter& first() const { return *stages_.front(); }
  std::vector<DraftRequest> AtStage(
      std::size_t stage, absl::Span<const DraftRequest> requests) const;
  DraftRequest Unsettled(std::size_t stage, const DraftRequest& request,
                         absl::Span<const Distribution> laws) const;

  std::vector<std::unique_ptr<ViewDrafter>> stages_;  // one an exit
  double settled_;
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_EARLY_EXIT_EARLY_EXIT_H_
