// Rows of numbers: their types in files, their sums, whether they are finite,
// and weights to choose from.
#ifndef BANYAN_CORE_BASE_NUMBER_ROWS_H_
#define BANYAN_CORE_BASE_NUMBER_ROWS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace banyan {

// The types of numbers in a model's files.

// From kQ4_0 on a type stores blocks, whose numbers share their scales; only
// GGUF files have them. kF8E4M3 and kF8E5M2 are known by name and size only:
// nothing reads them.
enum class DType {
  kF64,
  kF32,
  kF16,
  kBf16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kBool,
  kF8E4M3,
  kF8E5M2,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ4K,
  kQ5K,
  kQ6K,
};

inline constexpr int kDTypes = static_cast<int>(DType::kQ6K) + 1;

// "BF16", "Q4_K".
absl::string_view DTypeName(DType dtype);
// How many numbers are stored together: 1, or those of a block.
std::int64_t DTypeBlock(DType dtype);
// The bytes of a block.
std::int64_t DTypeBytes(DType dtype);

// The f32 numbers equal to the half (IEEE binary16) or bfloat16 with these
// bits; infinities and NaNs keep sign and payload.
float FloatFromF16(std::uint16_t bits);
float FloatFromBf16(std::uint16_t bits);

// Whether numbers are numbers.

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

// A finite list of weights to choose from, as a view.

// Index i has weight values[i], or none if it stands in `left_out`. Weights are
// not negative, not NaN, and need not sum to 1.
struct Weights {
  absl::Span<const double> values;
  absl::Span<const int> left_out = {};
  // Where the values stand, ascending, in a row whose other weights are 0;
  // empty: they are the row. A number chooses alike from both.
  absl::Span<const int> places = {};
};

// The sum of a row of masses or weights.

// Infinite if an entry or the sum is; ends the program if an entry is negative
// or NaN. The order of the additions is fixed, but not that of the entries.
double CheckedSum(absl::Span<const double> row);

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_NUMBER_ROWS_H_
