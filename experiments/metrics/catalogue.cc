#include "experiments/metrics/catalogue.h"

#include "core/base/messages.h"
#include "core/base/params.h"

namespace banyan {
namespace {

std::vector<MetricRow>& Rows() {
  static auto& rows = *new std::vector<MetricRow>([] {
    std::vector<MetricRow> all;
    for (const std::vector<MetricRow>& theme :
         {PassesMetrics(), SpeedMetrics(), AcceptanceMetrics(), SizesMetrics(),
          TextMetrics(), MemoryMetrics(), TotalsMetrics()})
      all.insert(all.end(), theme.begin(), theme.end());
    return all;
  }());
  return rows;
}

}  // namespace

absl::Span<const MetricRow> MetricCatalogue() { return Rows(); }

void AddMetrics(absl::Span<const MetricRow> rows) { AppendRows(rows, Rows()); }

absl::StatusOr<const MetricRow*> FindMetric(absl::string_view name) {
  std::vector<absl::string_view> known;
  for (const MetricRow& row : MetricCatalogue()) {
    if (row.name == name) return &row;
    known.push_back(row.name);
  }
  return absl::InvalidArgumentError(UnknownName("metric", name, known));
}

}  // namespace banyan
