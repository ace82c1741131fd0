// A finite list of weights to choose from, as a view.
#ifndef BANYAN_CORE_BASE_WEIGHTS_H_
#define BANYAN_CORE_BASE_WEIGHTS_H_

#include "absl/types/span.h"

namespace banyan {

// Index i has weight values[i], or none if it stands in `left_out`. Weights are
// not negative, not NaN, and need not sum to 1.
struct Weights {
  absl::Span<const double> values;
  absl::Span<const int> left_out = {};
  // Where the values stand, ascending, in a row whose other weights are 0;
  // empty: they are the row. A number chooses alike from both.
  absl::Span<const int> places = {};
};

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_WEIGHTS_H_
