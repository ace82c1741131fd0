// The sum of a row of masses or weights.
#ifndef BANYAN_CORE_BASE_CHECKED_SUM_H_
#define BANYAN_CORE_BASE_CHECKED_SUM_H_

#include "absl/types/span.h"

namespace banyan {

// Infinite if an entry or the sum is; ends the program if an entry is negative
// or NaN. The order of the additions is fixed, but not that of the entries.
double CheckedSum(absl::Span<const double> row);

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_CHECKED_SUM_H_
