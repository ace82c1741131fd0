#include "experiments/report/numbers.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"

namespace banyan {

std::string ShortNumber(double value, Form form) {
  const double size = std::fabs(value);
  if (form == Form::kTotal || size >= 1000)
    return absl::StrFormat("%.0f", value);
  if (size >= 100) return absl::StrFormat("%.1f", value);
  if (size >= 10) return absl::StrFormat("%.2f", value);
  if (size >= 0.1 || value == 0) return absl::StrFormat("%.3f", value);
  return absl::StrFormat("%.3g", value);
}

std::string ShortDifference(double value, Form form) {
  return absl::StrCat(value > 0 ? "+" : "", ShortNumber(value, form));
}

std::string ShortInterval(const Estimate& estimate, Form form) {
  if (!estimate.interval.has_value()) return "";
  return absl::StrCat("[", ShortNumber(estimate.interval->low, form), ", ",
                      ShortNumber(estimate.interval->high, form), "]");
}

std::string ExactNumber(double value) {
  return absl::StrFormat("%.17g", value);
}

}  // namespace banyan
