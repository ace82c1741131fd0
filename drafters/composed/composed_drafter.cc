#include "drafters/composed/composed_drafter.h"

#include <algorithm>
#include <cstddef>

namespace banyan {

ChoosingDrafter::ChoosingDrafter(InnerDrafters parts, std::vector<int> depths)
    : ComposedDrafter(parts.Traits(), std::move(parts)),
      depths_(std::move(depths)) {}

absl::StatusOr<std::vector<Proposals>> ChoosingDrafter::Propose(
    absl::Span<const DraftRequest> requests) {
  std::vector<InnerSessions::Choice> choices;
  for (const DraftRequest& request : requests) {
    auto& own = SessionOf<ChoosingSession>(request);
    choices.push_back({&request, &own.parts(), {}});
    const int depth = depths_[static_cast<std::size_t>(own.chosen())];
    for (int node : request.nodes) {
      const bool drafts = depth == 0 || request.tree->node(node).depth < depth;
      choices.back().part_of.push_back(drafts ? own.chosen() : -1);
    }
  }
  return InnerSessions::AnswerAll(choices);
}

ChoosingSession::ChoosingSession(const InnerDrafters& drafters,
                                 std::vector<int> depths)
    : ComposedSession(drafters), depths_(std::move(depths)) {}

absl::Status ChoosingSession::Begin(const Context& context) {
  BANYAN_RETURN_IF_ERROR(ComposedSession::Begin(context));
  chosen_ = Choose(context);
  return absl::OkStatus();
}

absl::Status ChoosingSession::Observe(const Context& context,
                                      const RoundOutcome& outcome) {
  BANYAN_RETURN_IF_ERROR(ComposedSession::Observe(context, outcome));
  Learn(outcome);
  chosen_ = Choose(context);
  return absl::OkStatus();
}

std::optional<double> ChoosingSession::PromiseOf(
    int part, const Context& context, std::optional<double> otherwise) const {
  std::optional<double> promise = parts()[part].session().Promise(context);
  if (!promise.has_value()) promise = otherwise;
  const int depth = depths_[static_cast<std::size_t>(part)];
  if (!promise.has_value() || depth == 0) return promise;
  return std::min<double>(*promise, depth);
}

}  // namespace banyan
