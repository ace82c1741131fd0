// Panels of four-bit weights (weight_panels.h): their layout, made from a
// file's blocks as they are or from numbers.
//
// All have the bytes of their q first, for every eight columns [16][4] bytes:
// byte i of a row has column i in its low half and column i + 4 in its high
// half. q is a whole number from 0 to 15. Then come scales, as halves
// (IEEE binary16), and zeros up to a multiple of 64 bytes:
//   kQ4       by block [16] scales; w = scale * (q - 8); columns that fill up
//             the last block have q = 8
//   kQ4Min    by block [16] scales and [16] least values; w = scale * q + least
//   kQ4Super  by super-block of 256 columns [16] scales and [16] steps, both
//             halves, then a byte for each of its blocks and rows, [8][16],
//             with the low four bits of a and b, and a byte for the blocks j
//             and j + 4, [4][16], with their high two bits, of block j in the
//             low half; w = (scale * a) * q - step * b
#ifndef BANYAN_CORE_BASE_PANELS_FOUR_BITS_H_
#define BANYAN_CORE_BASE_PANELS_FOUR_BITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/number_rows.h"
#include "core/base/weight_format.h"

namespace banyan {

inline constexpr int kSuperBlock = 256;

// The format that keeps a file's blocks of this type as they are; none: no
// format does.
std::optional<WeightFormat> FourBitFormat(DType dtype);

// The scale and the step of one of the eight parts of a Q4_K or Q5_K block, six
// bits each, which twelve bytes hold.
struct SixBits {
  int scale;
  int step;
};
SixBits SixBitsOf(const std::uint8_t* twelve, int part);

// Bytes of a panel before its scales.
constexpr std::size_t FourBitScalesOffset(int columns) {
  return Q8Blocks(columns) * kPanelRows * kQ8Block / 2;
}

// Bytes of a panel; a multiple of 64.
std::size_t FourBitPanelBytes(WeightFormat format, int columns);

// Makes a panel of kQ4 from kPanelRows rows of numbers. A block's scale is the
// one of least squares for its whole numbers, which are the nearest ones.
void PackFourBits(int columns, const float* rows, std::byte* panel);

// Makes a panel from kPanelRows rows of a file's blocks, one after the other.
void PackBlocks(WeightFormat format, int columns, const std::byte* rows,
                std::byte* panel);

// Writes a row of a panel at `out`.
void ReadFourBitRow(WeightFormat format, int columns, const std::byte* panel,
                    int row, float* out);

// Returns whether all scales of a panel are finite, and so all its weights.
bool FourBitPanelIsFinite(WeightFormat format, int columns,
                          const std::byte* panel);

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_PANELS_FOUR_BITS_H_
