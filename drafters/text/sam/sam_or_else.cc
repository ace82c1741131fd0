#include "drafters/text/sam/sam_or_else.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/model/context.h"
#include "core/prob/distribution.h"
#include "drafters/composed/inner_drafters.h"
#include "drafters/drafter.h"
#include "tree/verdict.h"

namespace banyan {
namespace {

constexpr int kSam = 0;
constexpr int kOther = 1;

}  // namespace

absl::Status SamOrElse::Begin(const Context& context) {
  BANYAN_RETURN_IF_ERROR(parts().Begin(context));
  Choose(context);
  return absl::OkStatus();
}

absl::Status SamOrElse::Observe(const Context& context,
                                const RoundOutcome& outcome) {
  BANYAN_RETURN_IF_ERROR(parts().Observe(context, outcome));
  Choose(context);
  return absl::OkStatus();
}

void SamOrElse::Choose(const Context& context) {
  chosen_ =
      parts()[kSam].drafter().Promise(context).value_or(0) > 0 ? kSam : kOther;
}

std::optional<double> SamOrElse::Promise(const Context& context) const {
  const std::optional<double> promise =
      parts()[chosen_].drafter().Promise(context);
  if (chosen_ == kSam || depth_ == 0 || !promise.has_value()) return promise;
  return std::min<double>(*promise, depth_);
}

absl::StatusOr<std::vector<std::vector<Distribution>>> SamOrElse::ProposeAll(
    absl::Span<const DraftRequest> requests) {
  std::vector<InnerDrafters::Choice> choices;
  for (const DraftRequest& request : requests) {
    auto& own = static_cast<SamOrElse&>(*request.drafter);
    choices.push_back({&request, &own.parts(), {}});
    for (int node : request.nodes) {
      const bool drafts = own.chosen_ == kSam || own.depth_ == 0 ||
                          request.tree->node(node).depth < own.depth_;
      choices.back().part_of.push_back(drafts ? own.chosen_ : -1);
    }
  }
  return InnerDrafters::AnswerAll(choices);
}

}  // namespace banyan
