#include "experiments/metrics/sign_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "absl/types/span.h"
#include "experiments/metrics/catalogue.h"
#include "experiments/metrics/cell_counts.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/prompt_pair.h"

namespace banyan {

double SignTestP(int faster, int slower) {
  const int n = faster + slower;
  const int fewer = std::min(faster, slower);
  double p = 0;
  for (int i = 0; i <= fewer; ++i)
    p += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) -
                  std::lgamma(n - i + 1) - n * std::log(2.0));
  return std::min(1.0, 2 * p);
}

SignTest CompareSigns(absl::Span<const PromptPair> a,
                      absl::Span<const PromptPair> b) {
  const MetricRow& metric = **FindMetric("ms_per_token");
  const CommonParts parts = CountCommon(metric, a, b);
  SignTest test;
  const auto own = parts.a.find("");
  const auto other = parts.b.find("");
  if (own == parts.a.end() || other == parts.b.end()) return test;
  for (std::size_t i = 0; i < own->second.size(); ++i) {
    const std::optional<double> left = Value(metric.form, own->second[i]);
    const std::optional<double> right = Value(metric.form, other->second[i]);
    if (!left.has_value() || !right.has_value()) continue;
    test.faster += *left < *right ? 1 : 0;
    test.slower += *left > *right ? 1 : 0;
  }
  test.p = SignTestP(test.faster, test.slower);
  return test;
}

}  // namespace banyan
