// How weights are kept in memory, and what that is called.
#ifndef BANYAN_CORE_BASE_WEIGHT_FORMAT_H_
#define BANYAN_CORE_BASE_WEIGHT_FORMAT_H_

#include <array>
#include <cstddef>
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
// kQ4    Blocks of 32 neighbours in a row: w = scale * (q - 8) with q a whole
//        number from 0 to 15 and scale a half (IEEE binary16). Products
//        quantise the activations as with kQ8. As the format of a model it
//        means: what is stored in blocks of four bits stays as it is, a matrix
//        with other blocks becomes kQ8, and all else is rounded.
// kQ4Min, kQ4Super
//        The same for GGUF's Q4_1 and Q4_K blocks
//        (core/base/panels/four_bits.h). Only single matrices have them, as a
//        file has them.
enum class WeightFormat { kF32, kBf16, kQ8, kQ4, kQ4Min, kQ4Super };

// A panel has this many rows of a matrix (panels/weight_panels.h).
inline constexpr int kPanelRows = 16;
// Numbers of a block, and the blocks of a row.
inline constexpr int kQ8Block = 32;
constexpr std::size_t Q8Blocks(int columns) {
  return static_cast<std::size_t>(columns + kQ8Block - 1) / kQ8Block;
}

// "f32", "bf16", "q8" or "q4"; of blocks that a file stores "q4_1" or "q4_k".
inline absl::string_view Name(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return "f32";
    case WeightFormat::kBf16:
      return "bf16";
    case WeightFormat::kQ8:
      return "q8";
    case WeightFormat::kQ4:
      return "q4";
    case WeightFormat::kQ4Min:
      return "q4_1";
    case WeightFormat::kQ4Super:
      return "q4_k";
  }
  return "";
}

inline bool IsFourBits(WeightFormat format) {
  return format == WeightFormat::kQ4 || format == WeightFormat::kQ4Min ||
         format == WeightFormat::kQ4Super;
}

// Whether products with such weights quantise the activations.
inline bool IsQuantised(WeightFormat format) {
  return format == WeightFormat::kQ8 || IsFourBits(format);
}

// The largest magnitude that stays finite in this format. A bfloat16 rounds
// what is larger to infinity, and so does the half that is a scale of four
// bits; the scale of kQ8 is always finite.
inline float LargestWeight(WeightFormat format) {
  if (IsFourBits(format)) return 7 * 65504.0F;
  return format == WeightFormat::kBf16 ? 0x1.fefffep127F
                                       : std::numeric_limits<float>::max();
}

// The formats that a model can be asked for.
inline constexpr std::array kModelFormats = {
    WeightFormat::kF32, WeightFormat::kBf16, WeightFormat::kQ8,
    WeightFormat::kQ4};

// The one of these that has this name; nothing if none has.
inline std::optional<WeightFormat> FindFormat(absl::string_view name) {
  for (WeightFormat format : kModelFormats)
    if (name == Name(format)) return format;
  return std::nullopt;
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_WEIGHT_FORMAT_H_
