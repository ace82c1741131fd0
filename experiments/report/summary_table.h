// A summary as a table.
#ifndef BANYAN_EXPERIMENTS_REPORT_SUMMARY_TABLE_H_
#define BANYAN_EXPERIMENTS_REPORT_SUMMARY_TABLE_H_

#include <string>
#include <vector>

#include "experiments/report/stated_costs.h"
#include "experiments/report/summary.h"
#include "experiments/report/table.h"

namespace banyan {

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

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_SUMMARY_TABLE_H_
