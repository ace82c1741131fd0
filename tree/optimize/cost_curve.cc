#include "tree/optimize/cost_curve.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/common.h"
#include "core/base/params.h"

namespace banyan {
namespace {

absl::Status CheckPoint(const std::string& name, int tokens, double ms) {
  if (tokens < 1)
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has the key ", tokens, "; a pass has at least 1 token"));
  if (!(ms > 0) || !std::isfinite(ms))
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", ms, " at ", tokens,
                     " tokens; expected positive milliseconds"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CostCurve> CostCurve::FromMap(std::string name,
                                             std::map<int, double> ms) {
  if (ms.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has no entries"));
  }
  for (const auto& [tokens, value] : ms)
    BANYAN_RETURN_IF_ERROR(CheckPoint(name, tokens, value));
  return CostCurve(std::move(name), std::move(ms));
}

absl::StatusOr<CostCurve> CostCurve::FromParams(std::string name,
                                                const Params& value) {
  std::map<int, double> all;
  BANYAN_RETURN_IF_ERROR(Convert(value, all));
  int last = 0;
  for (const Params::Entry& entry : value.entries()) {
    int tokens = 0;
    Check(absl::SimpleAtoi(entry.key, &tokens), "the keys were converted");
    const absl::Status good = CheckPoint(name, tokens, all.at(tokens));
    if (!good.ok()) return entry.value.Error(good.message());
    if (tokens < last)
      return ErrorAt(entry.key_origin,
                     absl::StrCat(name, " has the key ", tokens, " after ",
                                  last, "; expected ascending keys"));
    last = tokens;
  }
  absl::StatusOr<CostCurve> curve = FromMap(std::move(name), std::move(all));
  if (!curve.ok()) return value.Error(curve.status().message());
  return curve;
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
