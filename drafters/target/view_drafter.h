// ViewDrafter: the target drafts for itself. A view of its own session, which
// does a part of its work, follows the text without reading it: what the target
// has committed the view sees.
#ifndef BANYAN_DRAFTERS_TARGET_VIEW_DRAFTER_H_
#define BANYAN_DRAFTERS_TARGET_VIEW_DRAFTER_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/session_drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

class ViewDrafter : public SessionDrafter {
 public:
  // `target` is the model of the sequences, or the one whose weights the view
  // runs with.
  ViewDrafter(std::shared_ptr<const Model> target, ViewOptions options,
              SamplingRule rule);

  std::unique_ptr<Drafter> Clone() const override;
  absl::Status TakeViews(Session& target) override;
  absl::Status Begin(const Context& context) override;
  // All that the view has scored, if it keeps its rows.
  DoneRows Computed(const DraftTree& tree) const override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

  const ViewOptions& options() const { return options_; }
  // Whether the view has scored a node of the tree under way.
  bool Asked(int node) const { return pending().Has(node); }
  // Its rows go on from those of a view with fewer of the first layers, which
  // outlives it and has scored all that is asked of this one.
  void GoOnFrom(const ViewDrafter* shallower) { shallower_ = shallower; }

 protected:
  DoneRows DoneFor(absl::Span<const int> nodes) const override;

 private:
  ViewOptions options_;
  const ViewDrafter* shallower_ = nullptr;
};

// OK, or why the target has no such view: an error at `section`.
absl::Status CheckView(const Params& section, const Workbench& bench,
                       const ViewOptions& options);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_VIEW_DRAFTER_H_
