// HostWeight: a matrix in panels (core/base/number_rows.h) in this machine's
// memory, all of it or, of a StreamedWeight, the part that a product is
// reading.
#ifndef BANYAN_CORE_OPS_HOST_HOST_WEIGHT_H_
#define BANYAN_CORE_OPS_HOST_HOST_WEIGHT_H_

#include <cstddef>
#include <memory>

#include "absl/functional/function_ref.h"
#include "core/base/common.h"
#include "core/base/panels/four_bits.h"
#include "core/base/panels/weight_panels.h"
#include "core/base/weight_format.h"
#include "core/device/host_buffer.h"
#include "core/ops/panels.h"
#include "core/ops/weight.h"

namespace banyan {

// Panels [first, first + count), which stand at `at`.
struct PanelRun {
  std::size_t first;
  std::size_t count;
  const std::byte* at;
};

class HostWeight : public Weight {
 public:
  // Fails if `source` does or if memory runs out.
  static absl::StatusOr<std::unique_ptr<HostWeight>> Pack(WeightFormat format,
                                                          int rows, int columns,
                                                          WeightRows source);
  // Of panels that are packed already.
  static absl::StatusOr<std::unique_ptr<HostWeight>> Adopt(WeightFormat format,
                                                           int rows,
                                                           int columns,
                                                           PanelSource source);
  // Rows [first, first + count) of a matrix whose panels are in memory, which
  // they share. `first` begins a panel.
  static std::unique_ptr<HostWeight> Part(const HostWeight& whole, int first,
                                          int count);

  WeightFormat format() const override { return format_; }
  int rows() const override { return rows_; }
  int columns() const override { return columns_; }
  std::size_t bytes() const override { return panel_bytes_ * panels(); }

  std::size_t panels() const { return PanelCount(rows_); }
  std::size_t panel_bytes() const { return panel_bytes_; }
  // Of quantised weights: bytes of a panel before its scales, and blocks in a
  // row.
  std::size_t scales_offset() const {
    return IsFourBits(format_) ? FourBitScalesOffset(columns_)
                               : Q8ScalesOffset(columns_);
  }
  std::size_t blocks() const { return Q8Blocks(columns_); }

  // Calls `use` with all panels, in order and a run at a time. Fails as `use`,
  // or if they cannot be read.
  virtual absl::Status ForPanels(
      absl::FunctionRef<absl::Status(const PanelRun&)> use) const;

  // Whether all panels are in memory, which what follows requires.
  virtual bool resident() const { return true; }
  const std::byte* panel(std::size_t number) const {
    return data_->data() + (first_panel_ + number) * panel_bytes_;
  }
  // Writes row `row`, as products see it, at `out`.
  void ReadRow(int row, float* out) const;
  // For kQ8: the whole number of an element, and the scale of a block.
  int Quant(int row, int column) const;
  float Scale(int row, int block) const;

 protected:
  HostWeight(WeightFormat format, int rows, int columns);

 private:
  WeightFormat format_;
  int rows_;
  int columns_;
  std::size_t panel_bytes_;
  std::size_t first_panel_ = 0;  // in `data_`
  std::shared_ptr<const HostBuffer> data_;
};

// A matrix whose panels are read from a file when a product needs them.
class StreamedWeight : public HostWeight {
 public:
  StreamedWeight(WeightFormat format, int rows, int columns,
                 StreamedPanels panels);

  absl::Status ForPanels(
      absl::FunctionRef<absl::Status(const PanelRun&)> use) const override;
  bool resident() const override { return false; }

 private:
  StreamedPanels panels_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_HOST_HOST_WEIGHT_H_
