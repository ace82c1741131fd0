#include "experiments/metrics/catalogue.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/nearest.h"
#include "experiments/metrics/metric.h"
#include "experiments/metrics/themes.h"

namespace banyan {

absl::Span<const MetricRow> MetricCatalogue() {
  static const auto& rows = *new std::vector<MetricRow>([] {
    std::vector<MetricRow> all;
    for (const std::vector<MetricRow>& theme :
         {PassesMetrics(), SpeedMetrics(), AcceptanceMetrics(), SizesMetrics(),
          TextMetrics(), MemoryMetrics(), TotalsMetrics()})
      all.insert(all.end(), theme.begin(), theme.end());
    return all;
  }());
  return rows;
}

absl::StatusOr<const MetricRow*> FindMetric(absl::string_view name) {
  std::vector<absl::string_view> known;
  for (const MetricRow& row : MetricCatalogue()) {
    if (row.name == name) return &row;
    known.push_back(row.name);
  }
  return absl::InvalidArgumentError(UnknownName("metric", name, known));
}

}  // namespace banyan
