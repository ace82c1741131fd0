#include "tree/optimize/chain.h"

#include <cmath>
#include <vector>

#include "core/base/common.h"
#include "tree/optimize/cost_curve.h"

namespace banyan {

absl::StatusOr<ChainChoice> FastestChain(const std::vector<double>& acceptance,
                                         const CostCurve& target_ms,
                                         double draft_ms, double drafted,
                                         int sequences) {
  if (acceptance.empty())
    return absl::InvalidArgumentError(
        "acceptance: expected at least one depth");
  if (!(draft_ms >= 0) || !std::isfinite(draft_ms))
    return absl::InvalidArgumentError(
        absl::StrCat("draft_ms is ", draft_ms,
                     "; expected milliseconds per level, at least 0"));
  if (!(drafted >= 0 && drafted <= 1))
    return absl::InvalidArgumentError(
        absl::StrCat("the share of rounds with draft tokens is ", drafted,
                     "; expected 0 to 1"));
  BANYAN_ASSIGN_OR_RETURN(const double plain_ms, target_ms.At(sequences));
  ChainChoice best;
  double tokens = 1;
  double reached = 1;
  int length = 0;
  for (const double share : acceptance) {
    if (!(share >= 0 && share <= 1))
      return absl::InvalidArgumentError(
          absl::StrCat("acceptance at depth ", length + 1, " is ", share,
                       "; expected a share from 0 to 1"));
    ++length;
    reached *= share;
    tokens += reached;
    BANYAN_ASSIGN_OR_RETURN(const double pass_ms,
                            target_ms.At(sequences * (length + 1)));
    const double mean_tokens = drafted * tokens + 1 - drafted;
    const double mean_ms =
        drafted * (length * draft_ms + pass_ms) + (1 - drafted) * plain_ms;
    const double speedup = mean_tokens * plain_ms / mean_ms;
    if (length == 1 || speedup > best.speedup)
      best = {length, mean_tokens, speedup};
  }
  return best;
}

}  // namespace banyan
