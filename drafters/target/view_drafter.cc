#include "drafters/target/view_drafter.h"

namespace banyan {

std::unique_ptr<DraftSession> ViewDrafter::NewSession() const {
  return std::make_unique<ViewSession>(*this);
}

absl::Status ViewSession::TakeViews(Session& target) {
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<Session> view,
                          target.View(drafter_.options()));
  SetSession(std::move(view));
  return absl::OkStatus();
}

absl::Status ViewSession::Begin(const Context& /*context*/) {
  pending().Clear();
  return absl::OkStatus();
}

DoneRows ViewSession::Computed(const DraftTree& tree) const {
  if (!drafter_.options().keeps_rows || session().pending() == 0) return {};
  return {&session(), pending().RowsOf(tree)};
}

DoneRows ViewSession::DoneFor(absl::Span<const int> nodes) const {
  if (shallower_ == nullptr) return {};
  DoneRows done = {&shallower_->session()};
  for (int node : nodes) done.rows.push_back(shallower_->pending().RowOf(node));
  return done;
}

absl::Status ViewSession::Observe(const Context& /*context*/,
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
