// Lines of a table of comma-separated values.
#ifndef BANYAN_EXPERIMENTS_REPORT_CSV_H_
#define BANYAN_EXPERIMENTS_REPORT_CSV_H_

#include <string>
#include <vector>

#include "experiments/metrics/estimate.h"

namespace banyan {

// Quotes fields where their text demands it. A field that a spreadsheet would
// compute as a formula gets an apostrophe before it.
std::string CsvLine(const std::vector<std::string>& fields);

// Appends value, low and high; the last two are empty without an interval.
void AddEstimate(const Estimate& estimate, std::vector<std::string>& fields);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_CSV_H_
