#include "core/base/checked_sum.h"

#include <algorithm>
#include <cstddef>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/base/lanes.h"

namespace banyan {

double CheckedSum(absl::Span<const double> row) {
  const double* values = row.data();
  const double below = SumInLanes(
      row.size(), [=](std::size_t i) { return std::max(-values[i], 0.0); });
  Check(below == 0, "a mass or weight is negative or NaN");
  return SumInLanes(row.size(), [=](std::size_t i) { return values[i]; });
}

}  // namespace banyan
