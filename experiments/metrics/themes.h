// The metrics, by theme: each function with its row beside it. Rows stand in
// the order of reports.
#ifndef BANYAN_EXPERIMENTS_METRICS_THEMES_H_
#define BANYAN_EXPERIMENTS_METRICS_THEMES_H_

#include <vector>

#include "experiments/metrics/metric.h"

namespace banyan {

std::vector<MetricRow> PassesMetrics();
std::vector<MetricRow> SpeedMetrics();
std::vector<MetricRow> AcceptanceMetrics();
std::vector<MetricRow> SizesMetrics();
std::vector<MetricRow> TextMetrics();
std::vector<MetricRow> MemoryMetrics();
std::vector<MetricRow> TotalsMetrics();

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_THEMES_H_
