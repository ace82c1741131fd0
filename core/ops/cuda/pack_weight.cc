#include "core/ops/cuda/pack_weight.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/ops/cuda/device/fragments.h"
#include "core/ops/host/host_weight.h"
#include "core/ops/weight.h"

namespace banyan {
namespace {

// Columns of a tile.
int Width(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return 1;
    case WeightFormat::kBf16:
      return 16;
    case WeightFormat::kQ8:
      return kQ8Block;
    default:  // NoFourBits()
      break;
  }
  return 1;
}

std::size_t Tiles(WeightFormat format, int columns) {
  return static_cast<std::size_t>((columns + Width(format) - 1) /
                                  Width(format));
}

}  // namespace

std::size_t TileRowWords(WeightFormat format, int columns) {
  return Tiles(format, columns) * (format == WeightFormat::kF32 ? 16 : 128);
}

std::size_t TileRowScales(WeightFormat format, int columns) {
  return format == WeightFormat::kQ8 ? Tiles(format, columns) * 8 : 0;
}

absl::Status ReadStored(const RowOrder& order, int first, int count,
                        int columns, WeightRows source, float* out) {
  for (int stored = first; stored < first + count;) {
    const int row = order.Row(stored);
    int together = 1;  // rows that follow each other are asked for at once
    while (row >= 0 && stored + together < first + count &&
           order.Row(stored + together) == row + together)
      ++together;
    const std::size_t size =
        static_cast<std::size_t>(together) * static_cast<std::size_t>(columns);
    if (row < 0)
      std::fill_n(out, size, 0.0F);
    else
      BANYAN_RETURN_IF_ERROR(source(row, together, out));
    out += size;
    stored += together;
  }
  return absl::OkStatus();
}

absl::Status PackTileRow(WeightFormat format, int rows, int columns,
                         const float* numbers, TileRow& out) {
  // As this machine's backends round.
  BANYAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<HostWeight> packed,
      HostWeight::Pack(
          format, rows, columns, [&](int first, int count, float* to) {
            const auto row = static_cast<std::size_t>(columns);
            std::copy_n(numbers + static_cast<std::size_t>(first) * row,
                        static_cast<std::size_t>(count) * row, to);
            return absl::OkStatus();
          }));
  out.numbers.assign(TileRowWords(format, columns), 0);
  out.scales.assign(TileRowScales(format, columns), 0);
  const int width = Width(format);
  const int each = width / 8;
  std::vector<float> rounded(static_cast<std::size_t>(columns));
  for (int row = 0; row < rows; ++row) {
    if (format != WeightFormat::kQ8) packed->ReadRow(row, rounded.data());
    if (format == WeightFormat::kF32) {
      for (std::size_t column = 0; column < rounded.size(); ++column)
        out.numbers[column * 16 + static_cast<std::size_t>(row)] =
            std::bit_cast<std::uint32_t>(rounded[column]);
      continue;
    }
    std::array<FragmentPlace, kQ8Block> places;
    for (int column = 0; column < width; ++column)
      places[static_cast<std::size_t>(column)] =
          InWeightTile(row, column, each);
    for (int column = 0; column < columns; ++column) {
      const FragmentPlace& place =
          places[static_cast<std::size_t>(column % width)];
      const std::uint32_t bits =
          format == WeightFormat::kBf16
              ? std::bit_cast<std::uint32_t>(
                    rounded[static_cast<std::size_t>(column)]) >>
                    16
              : static_cast<std::uint32_t>(packed->Quant(row, column)) & 0xffU;
      out.numbers[static_cast<std::size_t>(column / width * 128 +
                                           place.lane * 4 + place.word)] |=
          bits << (32 / each * place.part);
    }
    for (std::size_t block = 0; block < out.scales.size() / 8; ++block)
      out.scales[block * 8 + static_cast<std::size_t>(row % 8)] |=
          std::bit_cast<std::uint32_t>(
              packed->Scale(row, static_cast<int>(block))) >>
          16 << (row / 8 * 16);
  }
  return absl::OkStatus();
}

}  // namespace banyan
