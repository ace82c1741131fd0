// Whether numbers are numbers.
#ifndef BANYAN_CORE_BASE_FINITE_H_
#define BANYAN_CORE_BASE_FINITE_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace banyan {

// How many of `numbers` stand before the first that is NaN or infinite: all of
// them if none is.
inline std::size_t CountFinite(absl::Span<const float> numbers) {
  // The exponent of those is the largest, and one more carries into the sign.
  std::uint32_t seen = 0;
  for (const float number : numbers)
    seen |= (std::bit_cast<std::uint32_t>(number) & 0x7fffffffU) + 0x00800000U;
  if (seen >> 31 == 0) return numbers.size();
  const auto first =
      std::find_if(numbers.begin(), numbers.end(),
                   [](float number) { return !std::isfinite(number); });
  return static_cast<std::size_t>(first - numbers.begin());
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_FINITE_H_
