// HostWeight: a matrix packed in panels of 16 rows, one row a lane, so that a
// product needs no sum across lanes and streams the matrix once.
//
// One panel, k counting columns:
//   kF32   [k][16] floats
//   kBf16  [k / 2][16][2] bfloat16, an odd last column followed by zeros
//   kQ8    [k / 4][16][4] bytes q + 128, filled up to whole blocks with q = 0,
//          then [block][16] bfloat16 scales
// Rows that fill up the last panel are zeros.
#ifndef BANYAN_CORE_OPS_HOST_HOST_WEIGHT_H_
#define BANYAN_CORE_OPS_HOST_HOST_WEIGHT_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/device/host_buffer.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"

namespace banyan {

class HostWeight : public Weight {
 public:
  // Fails if `source` does or if memory runs out.
  static absl::StatusOr<std::unique_ptr<HostWeight>> Pack(WeightFormat format,
                                                          int rows, int columns,
                                                          WeightRows source);

  WeightFormat format() const override { return format_; }
  int rows() const override { return rows_; }
  int columns() const override { return columns_; }
  std::size_t bytes() const override { return panel_bytes_ * panels(); }

  std::size_t panels() const {
    return static_cast<std::size_t>(PadToLane(rows_) / kLane);
  }
  std::size_t panel_bytes() const { return panel_bytes_; }
  const std::byte* panel(std::size_t number) const {
    return data_->data() + number * panel_bytes_;
  }
  // Of kQ8: bytes of a panel before its scales, and blocks in a row.
  std::size_t scales_offset() const { return blocks() * kLane * kQ8Block; }
  std::size_t blocks() const {
    return static_cast<std::size_t>(columns_ + kQ8Block - 1) / kQ8Block;
  }

  // Writes row `row`, as products see it, at `out`.
  void ReadRow(int row, float* out) const;
  // For kQ8: the whole number of an element, and the scale of a block.
  int Quant(int row, int column) const;
  float Scale(int row, int block) const;

 private:
  HostWeight(WeightFormat format, int rows, int columns);
  // `rows` are kLane rows; those beyond the matrix are zero.
  void PackPanel(std::size_t number, const float* rows);

  WeightFormat format_;
  int rows_;
  int columns_;
  std::size_t panel_bytes_;
  std::unique_ptr<HostBuffer> data_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_HOST_HOST_WEIGHT_H_
