// The median.
#ifndef BANYAN_EXPERIMENTS_METRICS_MEDIAN_H_
#define BANYAN_EXPERIMENTS_METRICS_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/check.h"

namespace banyan {

// Of an even number of values, the mean of the two in the middle. Requires a
// value.
inline double Median(std::vector<double> values) {
  Check(!values.empty(), "the median of no values");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half]
                                : (values[half - 1] + values[half]) / 2;
}

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_MEDIAN_H_
