// ViewDrafter: the target drafts for itself. A view of its own session, which
// does a part of its work, follows the text without reading it: what the target
// has committed the view sees.
#ifndef BANYAN_DRAFTERS_TARGET_VIEW_DRAFTER_H_
#define BANYAN_DRAFTERS_TARGET_VIEW_DRAFTER_H_

#include <memory>
#include <utility>

#include "core/base/common.h"
#include "core/base/params.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/session_drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/trunk_tree.h"
#include "tree/verdict.h"

namespace banyan {

class ViewDrafter : public SessionDrafter {
 public:
  // `target` is the model of the sequences, or the one whose weights the view
  // runs with.
  ViewDrafter(std::shared_ptr<const Model> target, ViewOptions options,
              SamplingRule rule)
      : SessionDrafter(std::move(target), std::move(rule)),
        options_(std::move(options)) {}

  std::unique_ptr<DraftSession> NewSession() const override;

  const ViewOptions& options() const { return options_; }

 private:
  ViewOptions options_;
};

class ViewSession : public ModelSession, private TargetPassPart {
 public:
  // `shallower`: null, or a view with fewer of the first layers, whose rows
  // this one's go on from. It outlives this one and has scored all that is
  // asked of this one.
  explicit ViewSession(const ViewDrafter& drafter,
                       const ViewSession* shallower = nullptr)
      : ModelSession({.in_target_pass = this}),
        drafter_(drafter),
        shallower_(shallower) {}

  absl::Status Begin(const Context& context) override;
  absl::Status Observe(const Context& context,
                       const RoundOutcome& outcome) override;

  // What an abandoned round has scored is forgotten.
  void DropRound() { pending().Clear(); }
  DoneRows DoneFor(absl::Span<const int> nodes) const override;
  // TargetPassPart, for sessions that are made of views.
  absl::Status TakeViews(Session& target) override;
  void Plant(const Context& /*context*/, int /*max_depth*/,
             TrunkTree& /*tree*/) override {}
  // All that the view has scored, if it keeps its rows.
  DoneRows Computed(const DraftTree& tree) const override;

 private:
  const ViewDrafter& drafter_;
  const ViewSession* shallower_;
};

// OK, or why the target has no such view: an error at `section`.
absl::Status CheckView(const Params& section, const Workbench& bench,
                       const ViewOptions& options);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TARGET_VIEW_DRAFTER_H_
