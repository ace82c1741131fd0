#include "drafters/target/view_drafter.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/model/context.h"
#include "core/model/model.h"
#include "core/prob/sampling_rule.h"
#include "drafters/drafter.h"
#include "drafters/session_drafter.h"
#include "drafters/workbench.h"
#include "tree/draft_tree.h"
#include "tree/verdict.h"

namespace banyan {

ViewDrafter::ViewDrafter(std::shared_ptr<const Model> target,
                         ViewOptions options, SamplingRule rule)
    : SessionDrafter(std::move(target), std::move(rule)),
      options_(std::move(options)) {}

std::unique_ptr<Drafter> ViewDrafter::Clone() const {
  return std::make_unique<ViewDrafter>(model(), options_, rule());
}

absl::Status ViewDrafter::TakeViews(Session& target) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Session> view, target.View(options_));
  SetSession(std::move(view));
  return absl::OkStatus();
}

absl::Status ViewDrafter::Begin(const Context& /*context*/) {
  pending().Clear();
  return absl::OkStatus();
}

DoneRows ViewDrafter::Computed(const DraftTree& tree) const {
  if (!options_.keeps_rows || session().pending() == 0) return {};
  return {&session(), pending().RowsOf(tree)};
}

DoneRows ViewDrafter::DoneFor(absl::Span<const int> nodes) const {
  if (shallower_ == nullptr) return {};
  DoneRows done = {&shallower_->session()};
  for (int node : nodes) done.rows.push_back(shallower_->pending().RowOf(node));
  return done;
}

absl::Status ViewDrafter::Observe(const Context& /*context*/,
                                  const RoundOutcome& /*outcome*/) {
  pending().Clear();  // with the view's rows, at the target's commit
  return absl::OkStatus();
}

absl::Status CheckView(const Params& section, const Workbench& bench,
                       const ViewOptions& options) {
  const absl::Status status =
      bench.target().NewSession()->View(options).status();
  if (status.ok()) return status;
  // A refusal stays one.
  return absl::Status(status.code(), section.Error(status.message()).message());
}

}  // namespace banyan
