#include "drafters/text/copy/first_copy.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "drafters/text/draft_plan.h"

namespace banyan {

absl::Status FirstCopy::Follow(const Context& context) {
  absl::Span<const TokenId> text = context.tokens;
  const auto history = static_cast<std::size_t>(options_.history);
  if (history > 0 && text.size() > history) text = text.last(history);
  copied_.clear();
  for (int size = options_.max_match; size >= options_.min_match; --size) {
    const auto match = static_cast<std::size_t>(size);
    if (text.size() <= match) continue;
    const absl::Span<const TokenId> last = text.last(match);
    // Not the last tokens themselves, which nothing follows.
    const auto end = text.end() - 1;
    const auto found = std::search(text.begin(), end, last.begin(), last.end());
    if (found == end) continue;
    const auto after =
        text.subspan(static_cast<std::size_t>(found - text.begin()) + match,
                     static_cast<std::size_t>(span_));
    copied_.assign(after.begin(), after.end());
    break;
  }
  return absl::OkStatus();
}

DraftPlan FirstCopy::Plan(const Context& /*context*/) {
  return DraftPlan::Chain(copied_);
}

}  // namespace banyan
