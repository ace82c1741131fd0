#include "core/base/panels/four_bits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/base/check.h"
#include "core/base/number_rows.h"
#include "core/base/weight_format.h"

namespace banyan {
namespace {

constexpr auto kLaneRows = static_cast<std::size_t>(kPanelRows);
constexpr std::size_t kBlock = kQ8Block;
constexpr std::size_t kBlockBytes = kLaneRows * kBlock / 2;  // of q
constexpr std::size_t kInSuper = kSuperBlock / kBlock;       // blocks
constexpr std::size_t kHalf = sizeof(std::uint16_t);
// Of 16 rows of a super-block.
constexpr std::size_t kLowBits = 2 * kLaneRows * kHalf;
constexpr std::size_t kHighBits = kLowBits + kInSuper * kLaneRows;
constexpr std::size_t kSuperBytes = kHighBits + kInSuper / 2 * kLaneRows;

std::size_t Blocks(int columns) { return Q8Blocks(columns); }

// Bytes of a panel's scales.
std::size_t ScaleBytes(WeightFormat format, int columns) {
  const std::size_t blocks = Blocks(columns);
  if (format == WeightFormat::kQ4) return blocks * kLaneRows * kHalf;
  if (format == WeightFormat::kQ4Min) return 2 * blocks * kLaneRows * kHalf;
  return blocks / kInSuper * kSuperBytes;
}

std::uint16_t Half(const std::byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

void PutHalf(std::uint16_t bits, std::byte* at) {
  std::memcpy(at, &bits, sizeof bits);
}

std::uint8_t Byte(const std::byte* at) {
  return std::to_integer<std::uint8_t>(*at);
}

// Rounds to the nearest half, ties to even. Requires a magnitude that a half
// has room for.
std::uint16_t RoundToHalf(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  constexpr std::uint32_t kLeastNormal = 0x38800000U;  // 2^-14
  if (magnitude < kLeastNormal)
    return static_cast<std::uint16_t>(
        sign |
        static_cast<std::uint16_t>(std::nearbyint(std::fabs(value) * 0x1p24F)));
  const std::uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
}

// Writes the q of a block of one row into its panel.
void PutBlock(const std::array<std::uint8_t, kBlock>& quants, std::size_t block,
              std::size_t row, std::byte* panel) {
  for (std::size_t eight = 0; eight < kBlock / 8; ++eight) {
    std::byte* at = panel + block * kBlockBytes + (eight * kLaneRows + row) * 4;
    for (std::size_t i = 0; i < 4; ++i)
      at[i] = static_cast<std::byte>(quants[eight * 8 + i] |
                                     quants[eight * 8 + i + 4] << 4);
  }
}

int QuantAt(const std::byte* panel, std::size_t row, std::size_t column) {
  const std::size_t in_block = column % kBlock;
  const std::uint8_t both =
      Byte(panel + column / kBlock * kBlockBytes +
           (in_block / 8 * kLaneRows + row) * 4 + in_block % 4);
  return in_block % 8 < 4 ? both & 15 : both >> 4;
}

using Whole = std::array<float, kBlock>;

// The nearest whole numbers from -8 to 7, and by how much a scale of least
// squares explains the block with them.
struct Fit {
  Whole q = {};
  float scale = 0;
  double explained = 0;
};

Fit FitTo(const Whole& numbers, float scale) {
  Fit fit;
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    fit.q[i] = scale == 0 ? 0
                          : std::clamp(std::nearbyint(numbers[i] / scale),
                                       -8.0F, 7.0F);
    products += double{numbers[i]} * fit.q[i];
    squares += double{fit.q[i]} * fit.q[i];
  }
  if (squares == 0) return fit;
  fit.scale = static_cast<float>(products / squares);
  fit.explained = products * products / squares;
  return fit;
}

// Returns the bits of a block's scale and writes its q.
std::uint16_t QuantiseBlock(const Whole& numbers,
                            std::array<std::uint8_t, kBlock>& quants) {
  constexpr int kRounds = 4;
  const float most = *std::max_element(
      numbers.begin(), numbers.end(),
      [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  Fit best;
  // The largest number takes either end of the whole numbers.
  for (const float start : {most / -8, most / 7}) {
    float scale = start;
    for (int round = 0; round < kRounds; ++round) {
      const Fit fit = FitTo(numbers, scale);
      if (fit.explained > best.explained) best = fit;
      if (fit.scale == scale) break;
      scale = fit.scale;
    }
  }
  const std::uint16_t bits = RoundToHalf(best.scale);
  const Fit kept = FitTo(numbers, FloatFromF16(bits));
  for (std::size_t i = 0; i < kBlock; ++i)
    quants[i] = static_cast<std::uint8_t>(static_cast<int>(kept.q[i]) + 8);
  return bits;
}

// Where a block's q stand in a file's block, and how.
void UnpackHalves(const std::byte* from,
                  std::array<std::uint8_t, kBlock>& quants) {
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    quants[i] = Byte(from + i) & 15;
    quants[i + kBlock / 2] = Byte(from + i) >> 4;
  }
}

// Of a Q4_K block, whose bytes hold two blocks of 32.
void PackSuperBlock(const std::byte* from, std::size_t super, std::size_t row,
                    std::byte* panel, std::byte* scales) {
  std::byte* const to = scales + super * kSuperBytes;
  PutHalf(Half(from), to + row * kHalf);
  PutHalf(Half(from + kHalf), to + (kLaneRows + row) * kHalf);
  const std::byte* const six = from + 2 * kHalf;
  const std::byte* const q = six + 12;
  std::array<std::uint8_t, kBlock> quants = {};
  for (std::size_t j = 0; j < kInSuper; ++j) {
    const auto [a, b] = SixBitsOf(reinterpret_cast<const std::uint8_t*>(six),
                                  static_cast<int>(j));
    to[kLowBits + j * kLaneRows + row] =
        static_cast<std::byte>((a & 15) | (b & 15) << 4);
    const int high = (a >> 4 | (b >> 4) << 2) << (j / 4 * 4);
    std::byte& pair = to[kHighBits + j % 4 * kLaneRows + row];
    pair = (j < 4 ? std::byte{0} : pair) | static_cast<std::byte>(high);
    for (std::size_t i = 0; i < kBlock; ++i)
      quants[i] = Byte(q + j / 2 * kBlock + i) >> (j % 2 * 4) & 15;
    PutBlock(quants, super * kInSuper + j, row, panel);
  }
}

// A block's scale and least value.
struct Line {
  float scale;
  float least;
};

Line LineOf(WeightFormat format, const std::byte* scales, std::size_t block,
            std::size_t row) {
  if (format == WeightFormat::kQ4) {
    const float scale =
        FloatFromF16(Half(scales + (block * kLaneRows + row) * kHalf));
    return {scale, -8 * scale};
  }
  if (format == WeightFormat::kQ4Min) {
    const std::byte* const at = scales + 2 * block * kLaneRows * kHalf;
    return {FloatFromF16(Half(at + row * kHalf)),
            FloatFromF16(Half(at + (kLaneRows + row) * kHalf))};
  }
  const std::byte* const at = scales + block / kInSuper * kSuperBytes;
  const std::size_t j = block % kInSuper;
  const std::uint8_t low = Byte(at + kLowBits + j * kLaneRows + row);
  const int high =
      Byte(at + kHighBits + j % 4 * kLaneRows + row) >> (j / 4 * 4) & 15;
  const auto a = static_cast<float>((low & 15) | (high & 3) << 4);
  const auto b = static_cast<float>(low >> 4 | (high >> 2) << 4);
  return {FloatFromF16(Half(at + row * kHalf)) * a,
          -(FloatFromF16(Half(at + (kLaneRows + row) * kHalf)) * b)};
}

}  // namespace

SixBits SixBitsOf(const std::uint8_t* twelve, int part) {
  if (part < 4) return {twelve[part] & 63, twelve[part + 4] & 63};
  return {(twelve[part + 4] & 15) | (twelve[part - 4] >> 2 & 48),
          twelve[part + 4] >> 4 | (twelve[part] >> 2 & 48)};
}

std::optional<WeightFormat> FourBitFormat(DType dtype) {
  if (dtype == DType::kQ4_0) return WeightFormat::kQ4;
  if (dtype == DType::kQ4_1) return WeightFormat::kQ4Min;
  if (dtype == DType::kQ4K) return WeightFormat::kQ4Super;
  return std::nullopt;
}

std::size_t FourBitPanelBytes(WeightFormat format, int columns) {
  return (FourBitScalesOffset(columns) + ScaleBytes(format, columns) + 63) /
         64 * 64;
}

void PackFourBits(int columns, const float* rows, std::byte* panel) {
  const auto count = static_cast<std::size_t>(columns);
  std::byte* const scales = panel + FourBitScalesOffset(columns);
  for (std::size_t block = 0; block < Blocks(columns); ++block) {
    const std::size_t first = block * kBlock;
    for (std::size_t row = 0; row < kLaneRows; ++row) {
      Whole numbers = {};
      std::copy_n(rows + row * count + first, std::min(kBlock, count - first),
                  numbers.begin());
      std::array<std::uint8_t, kBlock> quants;
      PutHalf(QuantiseBlock(numbers, quants),
              scales + (block * kLaneRows + row) * kHalf);
      PutBlock(quants, block, row, panel);
    }
  }
  std::byte* const end = panel + FourBitPanelBytes(WeightFormat::kQ4, columns);
  std::fill(scales + ScaleBytes(WeightFormat::kQ4, columns), end, std::byte{0});
}

void PackBlocks(WeightFormat format, int columns, const std::byte* rows,
                std::byte* panel) {
  const std::size_t blocks = Blocks(columns);
  std::byte* const scales = panel + FourBitScalesOffset(columns);
  const std::size_t halves = format == WeightFormat::kQ4 ? 1 : 2;
  const std::size_t block_bytes = halves * kHalf + kBlock / 2;
  Check(columns % (format == WeightFormat::kQ4Super ? kSuperBlock : kQ8Block) ==
            0,
        "rows of whole blocks");
  const std::byte* from = rows;
  for (std::size_t row = 0; row < kLaneRows; ++row) {
    if (format == WeightFormat::kQ4Super) {
      constexpr std::size_t kStored = 2 * kHalf + 12 + kSuperBlock / 2;
      for (std::size_t super = 0; super < blocks / kInSuper; ++super) {
        PackSuperBlock(from, super, row, panel, scales);
        from += kStored;
      }
      continue;
    }
    for (std::size_t block = 0; block < blocks; ++block) {
      std::array<std::uint8_t, kBlock> quants;
      UnpackHalves(from + halves * kHalf, quants);
      PutBlock(quants, block, row, panel);
      for (std::size_t i = 0; i < halves; ++i)
        PutHalf(Half(from + i * kHalf),
                scales + ((block * halves + i) * kLaneRows + row) * kHalf);
      from += block_bytes;
    }
  }
  std::fill(scales + ScaleBytes(format, columns),
            panel + FourBitPanelBytes(format, columns), std::byte{0});
}

void ReadFourBitRow(WeightFormat format, int columns, const std::byte* panel,
                    int row, float* out) {
  const std::byte* const scales = panel + FourBitScalesOffset(columns);
  const auto at = static_cast<std::size_t>(row);
  for (std::size_t k = 0; k < static_cast<std::size_t>(columns); ++k) {
    const Line line = LineOf(format, scales, k / kBlock, at);
    const int q = QuantAt(panel, at, k);
    out[k] = format == WeightFormat::kQ4
                 ? line.scale * static_cast<float>(q - 8)
                 : line.scale * static_cast<float>(q) + line.least;
  }
}

bool FourBitPanelIsFinite(WeightFormat format, int columns,
                          const std::byte* panel) {
  const std::byte* const scales = panel + FourBitScalesOffset(columns);
  for (std::size_t block = 0; block < Blocks(columns); ++block)
    for (std::size_t row = 0; row < kLaneRows; ++row) {
      const Line line = LineOf(format, scales, block, row);
      if (!std::isfinite(15 * line.scale + line.least) ||
          !std::isfinite(line.least))
        return false;
    }
  return true;
}

}  // namespace banyan
