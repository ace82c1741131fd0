// The metrics there are: one table, in the order in which they are reported.
#ifndef BANYAN_EXPERIMENTS_METRICS_CATALOGUE_H_
#define BANYAN_EXPERIMENTS_METRICS_CATALOGUE_H_

#include <vector>

#include "core/base/common.h"
#include "experiments/metrics/metric.h"

namespace banyan {

// The metrics, by theme: each function with its row beside it. Rows stand in
// the order of reports.
std::vector<MetricRow> PassesMetrics();
std::vector<MetricRow> SpeedMetrics();
std::vector<MetricRow> AcceptanceMetrics();
std::vector<MetricRow> SizesMetrics();
std::vector<MetricRow> TextMetrics();
std::vector<MetricRow> MemoryMetrics();
std::vector<MetricRow> TotalsMetrics();

absl::Span<const MetricRow> MetricCatalogue();

// Adds parts from outside the project to the catalogue (AppendRows). Call it
// before anything reads the catalogue.
void AddMetrics(absl::Span<const MetricRow> rows);

// The metric of stated costs that stands beside the measured speed.
inline constexpr absl::string_view kPredictedByCurve = "predicted_by_curve";

// The row of this name; an error with the nearest known one.
absl::StatusOr<const MetricRow*> FindMetric(absl::string_view name);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_CATALOGUE_H_
