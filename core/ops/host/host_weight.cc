#include "core/ops/host/host_weight.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/device/host_buffer.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"

namespace banyan {
namespace {

constexpr auto kLanes = static_cast<std::size_t>(kLane);
constexpr int kZeroQuant = 128;  // q = 0 as stored

float FromBf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t RoundToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// The smallest bfloat16 at or above a non-negative `value`.
std::uint16_t RoundUpToBf16(float value) {
  return static_cast<std::uint16_t>(
      (std::bit_cast<std::uint32_t>(value) + 0xffff) >> 16);
}

std::size_t PanelBytes(WeightFormat format, std::size_t columns) {
  const std::size_t blocks = (columns + kQ8Block - 1) / kQ8Block;
  switch (format) {
    case WeightFormat::kF32:
      return columns * kLanes * sizeof(float);
    case WeightFormat::kBf16:
      return (columns + 1) / 2 * kLanes * sizeof(std::uint32_t);
    case WeightFormat::kQ8:  // whole cache lines
      return (blocks * kLanes * (kQ8Block + sizeof(std::uint16_t)) + 63) / 64 *
             64;
  }
  return 0;
}

// Packs one block of one row: at[(i / 4) * 64 + i % 4] gets number i. Returns
// the scale.
std::uint16_t PackBlock(const float* row, std::size_t count, std::uint8_t* at) {
  float largest = 0;
  for (std::size_t i = 0; i < count; ++i)
    largest = std::max(largest, std::fabs(row[i]));
  const std::uint16_t bits = RoundUpToBf16(largest / 127.0F);
  const float scale = FromBf16(bits);
  for (std::size_t i = 0; i < kQ8Block; ++i) {
    // The division can round past 127 where the scale is subnormal.
    const float quant =
        i < count && scale > 0
            ? std::clamp(std::nearbyint(row[i] / scale), -127.0F, 127.0F)
            : 0.0F;
    at[i / 4 * (kLanes * 4) + i % 4] =
        static_cast<std::uint8_t>(static_cast<int>(quant) + kZeroQuant);
  }
  return bits;
}

}  // namespace

HostWeight::HostWeight(WeightFormat format, int rows, int columns)
    : format_(format),
      rows_(rows),
      columns_(columns),
      panel_bytes_(PanelBytes(format, static_cast<std::size_t>(columns))) {}

absl::StatusOr<std::unique_ptr<HostWeight>> HostWeight::Pack(
    WeightFormat format, int rows, int columns, WeightRows source) {
  Check(rows > 0 && columns > 0, "an empty weight");
  auto weight = absl::WrapUnique(new HostWeight(format, rows, columns));
  BANYAN_ASSIGN_OR_RETURN(weight->data_, HostBuffer::Allocate(weight->bytes()));
  std::vector<float> panel(kLanes * static_cast<std::size_t>(columns));
  for (int row = 0; row < rows; row += kLane) {
    const int count = std::min(kLane, rows - row);
    BANYAN_RETURN_IF_ERROR(source(row, count, panel.data()));
    std::fill(panel.begin() + std::ptrdiff_t{count} * columns, panel.end(),
              0.0F);
    weight->PackPanel(static_cast<std::size_t>(row / kLane), panel.data());
  }
  return weight;
}

void HostWeight::PackPanel(std::size_t number, const float* rows) {
  std::byte* const panel = data_->data() + number * panel_bytes_;
  const auto columns = static_cast<std::size_t>(columns_);
  if (format_ == WeightFormat::kF32) {
    auto* out = reinterpret_cast<float*>(panel);
    for (std::size_t k = 0; k < columns; ++k)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        out[k * kLanes + lane] = rows[lane * columns + k];
    return;
  }
  if (format_ == WeightFormat::kBf16) {
    auto* out = reinterpret_cast<std::uint16_t*>(panel);
    for (std::size_t k = 0; k < columns; ++k)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        out[(k / 2 * kLanes + lane) * 2 + k % 2] =
            RoundToBf16(rows[lane * columns + k]);
    return;
  }
  auto* out = reinterpret_cast<std::uint8_t*>(panel);
  auto* scales = reinterpret_cast<std::uint16_t*>(panel + scales_offset());
  for (std::size_t block = 0; block < blocks(); ++block) {
    const std::size_t first = block * kQ8Block;
    const std::size_t filled = std::min<std::size_t>(kQ8Block, columns - first);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      std::uint8_t* at = out + block * kQ8Block * kLanes + lane * 4;
      scales[block * kLanes + lane] =
          PackBlock(rows + lane * columns + first, filled, at);
    }
  }
}

int HostWeight::Quant(int row, int column) const {
  const auto lane = static_cast<std::size_t>(row % kLane);
  const auto k = static_cast<std::size_t>(column);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(
      panel(static_cast<std::size_t>(row / kLane)));
  return bytes[(k / 4 * kLanes + lane) * 4 + k % 4] - kZeroQuant;
}

float HostWeight::Scale(int row, int block) const {
  const auto* scales = reinterpret_cast<const std::uint16_t*>(
      panel(static_cast<std::size_t>(row / kLane)) + scales_offset());
  return FromBf16(scales[static_cast<std::size_t>(block) * kLanes +
                         static_cast<std::size_t>(row % kLane)]);
}

void HostWeight::ReadRow(int row, float* out) const {
  const std::byte* at = panel(static_cast<std::size_t>(row / kLane));
  const auto lane = static_cast<std::size_t>(row % kLane);
  for (std::size_t k = 0; k < static_cast<std::size_t>(columns_); ++k) {
    if (format_ == WeightFormat::kF32) {
      out[k] = reinterpret_cast<const float*>(at)[k * kLanes + lane];
    } else if (format_ == WeightFormat::kBf16) {
      out[k] = FromBf16(reinterpret_cast<const std::uint16_t*>(
          at)[(k / 2 * kLanes + lane) * 2 + k % 2]);
    } else {
      const int column = static_cast<int>(k);
      out[k] = static_cast<float>(Quant(row, column)) *
               Scale(row, column / kQ8Block);
    }
  }
}

}  // namespace banyan
