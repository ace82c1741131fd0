// Numbers as tables and files write them.
#ifndef BANYAN_EXPERIMENTS_REPORT_NUMBERS_H_
#define BANYAN_EXPERIMENTS_REPORT_NUMBERS_H_

#include <string>

#include "experiments/metrics/estimate.h"
#include "experiments/metrics/metric.h"

namespace banyan {

// With three or four digits that count; a total as a whole number.
std::string ShortNumber(double value, Form form);
// The same with its sign.
std::string ShortDifference(double value, Form form);
// "[low, high]"; empty without an interval.
std::string ShortInterval(const Estimate& estimate, Form form);
// So that reading it gives the same double.
std::string ExactNumber(double value);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_NUMBERS_H_
