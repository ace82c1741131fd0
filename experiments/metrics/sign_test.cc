#include "experiments/metrics/sign_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "experiments/metrics/metric.h"

namespace banyan {

double SignTestP(int more, int less) {
  const int n = more + less;
  const int fewer = std::min(more, less);
  double p = 0;
  for (int i = 0; i <= fewer; ++i)
    p += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) -
                  std::lgamma(n - i + 1) - n * std::log(2.0));
  return std::min(1.0, 2 * p);
}

SignTest CompareSigns(Form form, absl::Span<const Part> a,
                      absl::Span<const Part> b) {
  Check(a.size() == b.size(), "parts of the same prompts");
  SignTest test;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::optional<double> left = Value(form, a[i]);
    const std::optional<double> right = Value(form, b[i]);
    if (!left.has_value() || !right.has_value()) continue;
    test.more += *left > *right ? 1 : 0;
    test.less += *left < *right ? 1 : 0;
  }
  test.p = SignTestP(test.more, test.less);
  return test;
}

}  // namespace banyan
