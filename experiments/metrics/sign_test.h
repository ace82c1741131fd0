// The sign test: on how many prompts one cell's number was larger than
// another's, and how likely so lopsided a count is if each were as likely as
// the other (two-sided, exact). It asks less of prompts than an interval: only
// that they are independent.
#ifndef BANYAN_EXPERIMENTS_METRICS_SIGN_TEST_H_
#define BANYAN_EXPERIMENTS_METRICS_SIGN_TEST_H_

#include "absl/types/span.h"
#include "experiments/metrics/metric.h"

namespace banyan {

struct SignTest {
  int more = 0;
  int less = 0;  // ties count for neither
  double p = 1;
};

// Requires parts of the same prompts in the same order.
SignTest CompareSigns(Form form, absl::Span<const Part> a,
                      absl::Span<const Part> b);

// The chance of a count at least as far from even as this one.
double SignTestP(int more, int less);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_METRICS_SIGN_TEST_H_
