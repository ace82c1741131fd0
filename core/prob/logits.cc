#include "core/prob/logits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/finite.h"
#include "core/base/lanes.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"

namespace banyan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

absl::Status NoLogit(TokenId token, double logit) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the logit of token ", token, " is ", logit, ", expected a number"));
}

absl::Status NoTokenLeft() {
  return absl::InvalidArgumentError(
      "no token is left to draw: every logit is -infinity or banned");
}

absl::Status CheckLogits(absl::Span<const double> logits) {
  // NaN and infinity show in a sum, and that is a vector loop.
  const double* numbers = logits.data();
  const double sum = SumInLanes(
      logits.size(), [=](std::size_t i) { return std::max(numbers[i], 0.0); });
  if (std::isfinite(sum)) return absl::OkStatus();
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!(logits[i] < kInfinity))
      return NoLogit(static_cast<TokenId>(i), logits[i]);
  return absl::OkStatus();
}

absl::Status CheckFinite(absl::Span<const float> logits) {
  const std::size_t finite = CountFinite(logits);
  if (finite == logits.size()) return absl::OkStatus();
  return NoLogit(static_cast<TokenId>(finite), logits[finite]);
}

absl::Status CheckFinite(absl::Span<const float> logits,
                         absl::Span<const TokenId> tokens) {
  const std::size_t finite = CountFinite(logits);
  if (finite == logits.size()) return absl::OkStatus();
  return NoLogit(tokens[finite], logits[finite]);
}

double LogSumExp(absl::Span<const double> logits) {
  double largest = -kInfinity;
  for (double logit : logits) largest = std::max(largest, logit);
  if (largest == -kInfinity) return largest;
  double sum = 0;
  for (double logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

absl::StatusOr<std::vector<TokenLogit>> BestLogits(
    absl::Span<const double> logits, int k) {
  Check(k >= 1, "the best of a row are at least one");
  BANYAN_RETURN_IF_ERROR(CheckLogits(logits));
  std::vector<TokenLogit> best;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > -kInfinity)
      best.push_back({static_cast<TokenId>(i), logits[i]});
  const auto count = std::min(best.size(), static_cast<std::size_t>(k));
  const auto end = best.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(best.begin(), end, best.end(),
                    [](const TokenLogit& a, const TokenLogit& b) {
                      return a.logit != b.logit ? a.logit > b.logit
                                                : a.token < b.token;
                    });
  best.erase(end, best.end());
  return best;
}

}  // namespace banyan
