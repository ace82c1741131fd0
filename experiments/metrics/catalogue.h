// The metrics there are: one table, in the order in which they are reported.
#ifndef BANYAN_EXPERIMENTS_METRICS_CATALOGUE_H_
#define BANYAN_EXPERIMENTS_METRICS_CATALOGUE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/metrics/metric.h"

namespace banyan {

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
