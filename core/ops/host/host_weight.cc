#include "core/ops/host/host_weight.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "core/base/check.h"
#include "core/base/panels/weight_panels.h"
#include "core/base/weight_format.h"

namespace banyan {

HostWeight::HostWeight(WeightFormat format, int rows, int columns)
    : format_(format),
      rows_(rows),
      columns_(columns),
      panel_bytes_(PanelBytes(format, columns)) {
  Check(rows > 0 && columns > 0, "an empty weight");
}

absl::StatusOr<std::unique_ptr<HostWeight>> HostWeight::Pack(
    WeightFormat format, int rows, int columns, WeightRows source) {
  std::vector<float> numbers(static_cast<std::size_t>(kPanelRows) *
                             static_cast<std::size_t>(columns));
  const auto pack = [&](std::size_t first,
                        absl::Span<std::byte> to) -> absl::Status {
    const std::size_t size = PanelBytes(format, columns);
    int row = static_cast<int>(first) * kPanelRows;
    for (std::size_t at = 0; at < to.size(); at += size, row += kPanelRows) {
      const int count = std::min(kPanelRows, rows - row);
      BANYAN_RETURN_IF_ERROR(source(row, count, numbers.data()));
      std::fill(numbers.begin() + std::ptrdiff_t{count} * columns,
                numbers.end(), 0.0F);
      PackPanel(format, columns, numbers.data(), to.data() + at);
    }
    return absl::OkStatus();
  };
  return Adopt(format, rows, columns, pack);
}

absl::StatusOr<std::unique_ptr<HostWeight>> HostWeight::Adopt(
    WeightFormat format, int rows, int columns, PanelSource source) {
  auto weight = absl::WrapUnique(new HostWeight(format, rows, columns));
  BANYAN_ASSIGN_OR_RETURN(std::unique_ptr<HostBuffer> data,
                          HostBuffer::Allocate(weight->bytes()));
  BANYAN_RETURN_IF_ERROR(
      source(0, absl::MakeSpan(data->data(), weight->bytes())));
  weight->data_ = std::move(data);
  return weight;
}

std::unique_ptr<HostWeight> HostWeight::Part(const HostWeight& whole, int first,
                                             int count) {
  Check(whole.resident() && first >= 0 && first % kPanelRows == 0 &&
            first + count <= whole.rows_,
        "rows of a matrix that it does not have in memory");
  auto part =
      absl::WrapUnique(new HostWeight(whole.format_, count, whole.columns_));
  part->first_panel_ =
      whole.first_panel_ + static_cast<std::size_t>(first / kPanelRows);
  part->data_ = whole.data_;
  return part;
}

absl::Status HostWeight::ForPanels(
    absl::FunctionRef<absl::Status(const PanelRun&)> use) const {
  return use({0, panels(), panel(0)});
}

int HostWeight::Quant(int row, int column) const {
  return PanelQuant(panel(static_cast<std::size_t>(row / kPanelRows)),
                    row % kPanelRows, column);
}

float HostWeight::Scale(int row, int block) const {
  return PanelScale(columns_, panel(static_cast<std::size_t>(row / kPanelRows)),
                    row % kPanelRows, block);
}

void HostWeight::ReadRow(int row, float* out) const {
  ReadPanelRow(format_, columns_,
               panel(static_cast<std::size_t>(row / kPanelRows)),
               row % kPanelRows, out);
}

StreamedWeight::StreamedWeight(WeightFormat format, int rows, int columns,
                               StreamedPanels panels)
    : HostWeight(format, rows, columns), panels_(std::move(panels)) {
  Check(panels_.ring != nullptr && panels_.panels > 0,
        "panels to be read from a ring");
}

absl::Status StreamedWeight::ForPanels(
    absl::FunctionRef<absl::Status(const PanelRun&)> use) const {
  ExtentRing& ring = *panels_.ring;
  const std::unique_lock<std::mutex> turn = ring.Turn();
  std::size_t extent = panels_.first_extent;
  for (std::size_t first = 0; first < panels(); first += panels_.panels) {
    const absl::StatusOr<absl::Span<const std::byte>> bytes =
        ring.Take(extent++);
    if (!bytes.ok())
      return absl::Status(
          bytes.status().code(),
          absl::StrCat(bytes.status().message(), " (", panels_.name, ")"));
    const std::size_t count = std::min(panels_.panels, panels() - first);
    Check(bytes->size() == count * panel_bytes(), "an extent of whole panels");
    BANYAN_RETURN_IF_ERROR(use({first, count, bytes->data()}));
  }
  return absl::OkStatus();
}

}  // namespace banyan
