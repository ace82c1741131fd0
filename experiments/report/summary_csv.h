// A summary as comma-separated values, in the long form: a line a number.
#ifndef BANYAN_EXPERIMENTS_REPORT_SUMMARY_CSV_H_
#define BANYAN_EXPERIMENTS_REPORT_SUMMARY_CSV_H_

#include <string>

#include "experiments/report/summary.h"

namespace banyan {

// Columns: cell, the axes, metric, key, value, low, high, prompts; and where a
// reference was given difference, difference_low and difference_high. Numbers
// read back as the same doubles; what there is not is empty. RFC 4180's quotes,
// lines end in \n.
std::string ToCsv(const Summary& summary);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_SUMMARY_CSV_H_
