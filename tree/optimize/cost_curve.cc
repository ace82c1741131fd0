#include "tree/optimize/cost_curve.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"

namespace banyan {

absl::StatusOr<CostCurve> CostCurve::FromMap(std::string name,
                                             std::map<int, double> ms) {
  if (ms.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has no entries"));
  }
  for (const auto& [tokens, value] : ms) {
    if (tokens < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " has the key ", tokens, "; a pass has at least 1 token"));
    }
    if (!(value > 0) || !std::isfinite(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", value, " at ", tokens,
                       " tokens; expected positive milliseconds"));
    }
  }
  return CostCurve(std::move(name), std::move(ms));
}

absl::StatusOr<double> CostCurve::At(int tokens) const {
  const auto above = ms_.lower_bound(tokens);
  if (above != ms_.end() && above->first == tokens) return above->second;
  if (ms_.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(name_, " is not given"));
  }
  if (above == ms_.end() || above == ms_.begin()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, " is needed at ", tokens, " tokens but given from ",
                     ms_.begin()->first, " to ", ms_.rbegin()->first,
                     "; add the key ", tokens));
  }
  const auto below = std::prev(above);
  const double share = (static_cast<double>(tokens) - below->first) /
                       (static_cast<double>(above->first) - below->first);
  return below->second + share * (above->second - below->second);
}

double CostCurve::cheapest() const {
  Check(!ms_.empty(), "the curve has values");
  const auto least = std::min_element(
      ms_.begin(), ms_.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  return least->second;
}

}  // namespace banyan
