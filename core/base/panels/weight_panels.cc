#include "core/base/panels/weight_panels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/base/check.h"
#include "core/base/number_rows.h"
#include "core/base/panels/four_bits.h"

namespace banyan {
namespace {

constexpr auto kLanes = static_cast<std::size_t>(kPanelRows);
constexpr int kZeroQuant = 128;  // q = 0 as stored

std::uint16_t RoundToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// The smallest bfloat16 at or above a non-negative `value`.
std::uint16_t RoundUpToBf16(float value) {
  return static_cast<std::uint16_t>(
      (std::bit_cast<std::uint32_t>(value) + 0xffff) >> 16);
}

// Packs one block of one row: at[(i / 4) * 64 + i % 4] gets number i. Returns
// the scale.
std::uint16_t PackBlock(const float* row, std::size_t count, std::uint8_t* at) {
  float largest = 0;
  for (std::size_t i = 0; i < count; ++i)
    largest = std::max(largest, std::fabs(row[i]));
  const std::uint16_t bits = RoundUpToBf16(largest / 127.0F);
  const float scale = FloatFromBf16(bits);
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

void PackQ8(std::size_t columns, const float* rows, std::byte* panel) {
  const auto blocks = Q8Blocks(static_cast<int>(columns));
  auto* out = reinterpret_cast<std::uint8_t*>(panel);
  auto* scales = reinterpret_cast<std::uint16_t*>(
      panel + Q8ScalesOffset(static_cast<int>(columns)));
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t first = block * kQ8Block;
    const std::size_t filled = std::min<std::size_t>(kQ8Block, columns - first);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      std::uint8_t* at = out + block * kQ8Block * kLanes + lane * 4;
      scales[block * kLanes + lane] =
          PackBlock(rows + lane * columns + first, filled, at);
    }
  }
  std::byte* const end =
      panel + PanelBytes(WeightFormat::kQ8, static_cast<int>(columns));
  std::fill(reinterpret_cast<std::byte*>(scales + blocks * kLanes), end,
            std::byte{0});
}

// Whether the magnitudes of some numbers are, as bits, at most `most`.
template <typename Bits>
bool AreAtMost(absl::Span<const std::byte> numbers, Bits most) {
  constexpr Bits kMagnitude = std::numeric_limits<Bits>::max() >> 1;
  Bits above = 0;
  for (std::size_t at = 0; at + sizeof(Bits) <= numbers.size();
       at += sizeof(Bits)) {
    Bits bits = 0;
    std::memcpy(&bits, numbers.data() + at, sizeof(Bits));
    above |= static_cast<Bits>((bits & kMagnitude) > most);
  }
  return above == 0;
}

// One by one, with those that fill up the last block.
bool Q8PanelIsFinite(int columns, const std::byte* panel) {
  const int filled = static_cast<int>(Q8Blocks(columns)) * kQ8Block;
  for (int row = 0; row < kPanelRows; ++row)
    for (int column = 0; column < filled; ++column)
      if (!std::isfinite(static_cast<float>(PanelQuant(panel, row, column)) *
                         PanelScale(columns, panel, row, column / kQ8Block)))
        return false;
  return true;
}

}  // namespace

std::size_t PanelBytes(WeightFormat format, int columns) {
  const auto count = static_cast<std::size_t>(columns);
  switch (format) {
    case WeightFormat::kF32:
      return count * kLanes * sizeof(float);
    case WeightFormat::kBf16:
      return (count + 1) / 2 * kLanes * sizeof(std::uint32_t);
    case WeightFormat::kQ8:  // whole cache lines
      return (Q8Blocks(columns) * kLanes * (kQ8Block + sizeof(std::uint16_t)) +
              63) /
             64 * 64;
    case WeightFormat::kQ4:
    case WeightFormat::kQ4Min:
    case WeightFormat::kQ4Super:
      return FourBitPanelBytes(format, columns);
  }
  return 0;
}

void PackPanel(WeightFormat format, int columns, const float* rows,
               std::byte* panel) {
  const auto count = static_cast<std::size_t>(columns);
  if (format == WeightFormat::kQ8) return PackQ8(count, rows, panel);
  if (format == WeightFormat::kQ4) return PackFourBits(columns, rows, panel);
  Check(!IsFourBits(format), "a format that only a file's blocks have");
  if (format == WeightFormat::kF32) {
    auto* out = reinterpret_cast<float*>(panel);
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        out[k * kLanes + lane] = rows[lane * count + k];
    return;
  }
  auto* out = reinterpret_cast<std::uint16_t*>(panel);
  if (count % 2 != 0) std::fill_n(out + count / 2 * kLanes * 2, kLanes * 2, 0);
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      out[(k / 2 * kLanes + lane) * 2 + k % 2] =
          RoundToBf16(rows[lane * count + k]);
}

int PanelQuant(const std::byte* panel, int row, int column) {
  const auto lane = static_cast<std::size_t>(row);
  const auto k = static_cast<std::size_t>(column);
  return reinterpret_cast<const std::uint8_t*>(
             panel)[(k / 4 * kLanes + lane) * 4 + k % 4] -
         kZeroQuant;
}

float PanelScale(int columns, const std::byte* panel, int row, int block) {
  const auto* scales =
      reinterpret_cast<const std::uint16_t*>(panel + Q8ScalesOffset(columns));
  return FloatFromBf16(scales[static_cast<std::size_t>(block) * kLanes +
                              static_cast<std::size_t>(row)]);
}

void ReadPanelRow(WeightFormat format, int columns, const std::byte* panel,
                  int row, float* out) {
  if (IsFourBits(format))
    return ReadFourBitRow(format, columns, panel, row, out);
  const auto lane = static_cast<std::size_t>(row);
  for (std::size_t k = 0; k < static_cast<std::size_t>(columns); ++k) {
    if (format == WeightFormat::kF32) {
      out[k] = reinterpret_cast<const float*>(panel)[k * kLanes + lane];
    } else if (format == WeightFormat::kBf16) {
      out[k] = FloatFromBf16(reinterpret_cast<const std::uint16_t*>(
          panel)[(k / 2 * kLanes + lane) * 2 + k % 2]);
    } else {
      const int column = static_cast<int>(k);
      out[k] = static_cast<float>(PanelQuant(panel, row, column)) *
               PanelScale(columns, panel, row, column / kQ8Block);
    }
  }
}

bool PanelsAreFinite(WeightFormat format, int columns,
                     absl::Span<const std::byte> panels) {
  constexpr std::uint32_t kMostF32 = 0x7f7fffff;
  constexpr std::uint16_t kMostBf16 = 0x7f7f;
  // The largest scale of which 128, the most that a byte holds, are finite. A
  // larger one is right only beside smaller bytes: packing the largest float
  // gives 126 times 0x7c02.
  constexpr std::uint16_t kSafeScale = 0x7bff;
  if (format == WeightFormat::kF32) return AreAtMost(panels, kMostF32);
  if (format == WeightFormat::kBf16) return AreAtMost(panels, kMostBf16);
  const std::size_t panel = PanelBytes(format, columns);
  if (IsFourBits(format)) {
    for (std::size_t at = 0; at + panel <= panels.size(); at += panel)
      if (!FourBitPanelIsFinite(format, columns, &panels[at])) return false;
    return true;
  }
  const std::size_t scales = Q8Blocks(columns) * kLanes * sizeof(std::uint16_t);
  for (std::size_t at = 0; at + panel <= panels.size(); at += panel)
    if (!AreAtMost(panels.subspan(at + Q8ScalesOffset(columns), scales),
                   kSafeScale) &&
        !Q8PanelIsFinite(columns, &panels[at]))
      return false;
  return true;
}

}  // namespace banyan
