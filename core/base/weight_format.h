// How weights are kept in memory, and what that is called.
#ifndef BANYAN_CORE_BASE_WEIGHT_FORMAT_H_
#define BANYAN_CORE_BASE_WEIGHT_FORMAT_H_

#include <limits>
#include <optional>

#include "absl/strings/string_view.h"

namespace banyan {

// kF32   32-bit floats.
// kBf16  Rounded to the nearest bfloat16, ties to even.
// kQ8    Blocks of 32 neighbours in a row: w = scale * q with q a whole number
//        in [-127, 127] and scale a bfloat16, the block's largest magnitude
//        over 127, rounded up. A product with kQ8 also quantises the
//        activations (core/ops/weight.h).
enum class WeightFormat { kF32, kBf16, kQ8 };

// "f32", "bf16" or "q8".
inline absl::string_view Name(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return "f32";
    case WeightFormat::kBf16:
      return "bf16";
    case WeightFormat::kQ8:
      return "q8";
  }
  return "";
}

// The largest magnitude that stays finite in this format. A bfloat16 rounds
// what is larger to infinity; a block's scale is always finite.
inline float LargestWeight(WeightFormat format) {
  return format == WeightFormat::kBf16 ? 0x1.fefffep127F
                                       : std::numeric_limits<float>::max();
}

// The format of this name; nothing if it has none.
inline std::optional<WeightFormat> FindFormat(absl::string_view name) {
  for (WeightFormat format :
       {WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8})
    if (name == Name(format)) return format;
  return std::nullopt;
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_WEIGHT_FORMAT_H_
