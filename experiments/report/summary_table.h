// A summary as a table: a row a cell, or two axes, as papers have them.
#ifndef BANYAN_EXPERIMENTS_REPORT_SUMMARY_TABLE_H_
#define BANYAN_EXPERIMENTS_REPORT_SUMMARY_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/records/record.pb.h"
#include "experiments/report/stated_costs.h"
#include "experiments/report/summary.h"
#include "experiments/report/table.h"

namespace banyan {

// A cell in words.

// Whether some drafter of it carries what it learnt from prompt to prompt.
bool IsWarm(const records::Cell& cell);

// Returns the marks of a cell, which a reader of its numbers must know:
// - "NOT LOSSLESS" if its texts refute its claim to be lossless;
// - "LOSSY" if the method does not keep the target distribution;
// - "warm" if it carries what it learnt from prompt to prompt;
// - "grown (NAME)" if the target is a grown model;
// - "HEADS at the cost of NAME" if heads grew with it and their cost did not.
// Empty if none applies.
std::string Marks(const records::Cell& cell);

// A summary as a table.

// The metrics of the table that is printed when none are asked for. Without
// costs (null), that of stated costs is none of them.
std::vector<std::string> DefaultMetrics(const StatedCosts* costs);

enum class Detail {
  // Intervals only of the speed, measured and predicted by stated costs;
  // differences of both, of tokens per pass and of milliseconds per token.
  kBrief,
  kFull,  // intervals and differences of all
};

// A row a cell: name, marks, prompts, every number of every metric, differences
// to the reference with their intervals. A column that no cell has is left out.
// Notes explain intervals, marks and what predictions assume.
Table MakeTable(const Summary& summary, Detail detail);

// A summary as a table of two axes, as papers have them.

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

#endif  // BANYAN_EXPERIMENTS_REPORT_SUMMARY_TABLE_H_
