#include "drafters/text/copy/first_copy.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"
#include "drafters/text/copy/copy.h"
#include "drafters/text/draft_plan.h"
#include "drafters/text/plan_drafter.h"

namespace banyan {
namespace {

class FirstCopySession : public PlanSession {
 public:
  FirstCopySession(const CopyOptions& options, int span)
      : options_(options), span_(span) {}

 protected:
  absl::Status Follow(const Context& context) override;
  DraftPlan Plan(const Context& context) override;

 private:
  CopyOptions options_;
  int span_;
  std::vector<TokenId> copied_;
};

absl::Status FirstCopySession::Follow(const Context& context) {
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

DraftPlan FirstCopySession::Plan(const Context& /*context*/) {
  return DraftPlan::Chain(copied_);
}

}  // namespace

std::unique_ptr<DraftSession> FirstCopy::NewSession() const {
  return std::make_unique<FirstCopySession>(options_, span_);
}

}  // namespace banyan
