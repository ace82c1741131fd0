// Panels: a matrix packed in groups of 16 rows, one row a lane, so that a
// product needs no sum across lanes and streams the matrix once. Kernels of
// every instruction set read them as they are.
//
// One panel, k counting columns:
//   kF32   [k][16] floats
//   kBf16  [k / 2][16][2] bfloat16, an odd last column followed by zeros
//   kQ8    [k / 4][16][4] bytes q + 128, filled up to whole blocks with q = 0,
//          then [block][16] bfloat16 scales and zeros up to a multiple of 64
//   of four bits: core/base/panels/four_bits.h
// Rows that fill up the last panel are zeros.
#ifndef BANYAN_CORE_BASE_PANELS_WEIGHT_PANELS_H_
#define BANYAN_CORE_BASE_PANELS_WEIGHT_PANELS_H_

#include <cstddef>

#include "absl/types/span.h"
#include "core/base/weight_format.h"

namespace banyan {

constexpr std::size_t PanelCount(int rows) {
  return static_cast<std::size_t>(rows + kPanelRows - 1) / kPanelRows;
}

// A multiple of 64.
std::size_t PanelBytes(WeightFormat format, int columns);
// Of kQ8: bytes of a panel before its scales.
constexpr std::size_t Q8ScalesOffset(int columns) {
  return Q8Blocks(columns) * kPanelRows * kQ8Block;
}

// Packs kPanelRows rows of `columns` numbers, one after the other.
void PackPanel(WeightFormat format, int columns, const float* rows,
               std::byte* panel);

// Writes a row of a panel, as products see it, at `out`.
void ReadPanelRow(WeightFormat format, int columns, const std::byte* panel,
                  int row, float* out);
// Whether every number in some panels is finite.
bool PanelsAreFinite(WeightFormat format, int columns,
                     absl::Span<const std::byte> panels);
// For kQ8: the whole number of an element, and the scale of a block.
int PanelQuant(const std::byte* panel, int row, int column);
float PanelScale(int columns, const std::byte* panel, int row, int block);

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_PANELS_WEIGHT_PANELS_H_
