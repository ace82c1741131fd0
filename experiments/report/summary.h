// A summary: cells in groups, what every metric says of them, and what they
// differ by from a reference.
#ifndef BANYAN_EXPERIMENTS_REPORT_SUMMARY_H_
#define BANYAN_EXPERIMENTS_REPORT_SUMMARY_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"
#include "experiments/records/record_set.h"
#include "experiments/report/stated_costs.h"

namespace banyan {

struct SummaryOptions {
  std::vector<std::string> metrics;  // empty: all
  // Cells stand together that agree in these: axes of the experiment, or
  // method, target, verifier or temperature. Empty: all cells stand together.
  std::vector<std::string> group;
  // What differences are to: a cell, or a method, whose cell of the same group
  // is meant. Empty: no differences.
  std::string reference;
  // By which the set's times were stated; null: they were not.
  const StatedCosts* costs = nullptr;
};

struct SummaryRow {
  const CellRecords* cell = nullptr;
  const CellRecords* reference = nullptr;  // null: none, or the cell itself
  // One entry a metric of the summary.
  std::vector<KeyedEstimates> values;
  std::vector<KeyedEstimates> differences;  // to the reference, if there is one
  std::optional<SignTest> signs;            // against it, by prompts
};

// Returns how many prompts the row's numbers are of; a chat or a batch is one.
int PromptsOf(const SummaryRow& row);

struct SummaryGroup {
  std::string title;  // "temperature 0, target small"; empty: the only one
  std::vector<SummaryRow> rows;
};

// Points into the record set, and to the options' costs.
struct Summary {
  std::vector<const MetricRow*> metrics;
  std::vector<std::string> axes;  // of all cells, in their order
  std::vector<SummaryGroup> groups;
  const StatedCosts* costs = nullptr;  // null: nothing rests on any
};

// The value of an axis, or of a property that cells can be grouped by; empty if
// the cell has none.
std::string AxisValue(const records::Cell& cell, const std::string& axis);

// Fails, naming the option, if one of `names` is neither an axis of the cells
// nor a property that they can be grouped by.
absl::Status CheckAxes(const std::string& option,
                       const std::vector<std::string>& names,
                       const Summary& summary);

// Fails on metrics, axes, cells and methods that there are not, with the
// nearest name, and on metrics of stated costs without them. The set and the
// costs must outlive the summary.
absl::StatusOr<Summary> Summarise(const RecordSet& set,
                                  const SummaryOptions& options);

// A summary as comma-separated values, in the long form: a line a number.

// Columns: cell, the axes, metric, key, value, low, high, prompts; and where a
// reference was given difference, difference_low and difference_high. Numbers
// read back as the same doubles; what there is not is empty. RFC 4180's quotes,
// lines end in \n.
std::string ToCsv(const Summary& summary);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_SUMMARY_H_
