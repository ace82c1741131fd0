// A summary as a table of two axes, as papers have them.
#ifndef BANYAN_EXPERIMENTS_REPORT_CROSS_TABLE_H_
#define BANYAN_EXPERIMENTS_REPORT_CROSS_TABLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "experiments/report/summary.h"
#include "experiments/report/table.h"

namespace banyan {

// Axes of the experiment, or properties that cells can be grouped by.
struct CrossAxes {
  std::string rows = "method";
  std::string columns = "temperature";
  bool best_of_row = false;  // bold is the best of a row, not of a column
};

// Returns a row for each value of one axis and, for each value of the other, a
// column for each metric's one number with its interval. The best lossless
// number of a column, or of a row, is bold: the largest, or of milliseconds the
// smallest. Plain decoding is one line where the rows are an axis that it does
// not have.
// A section for each group of the summary. Fails if two cells of a group have
// both values in common, naming them.
absl::StatusOr<Table> MakeCrossTable(const Summary& summary,
                                     const CrossAxes& axes);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_CROSS_TABLE_H_
