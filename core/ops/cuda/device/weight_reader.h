// One number of a packed weight.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_WEIGHT_READER_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_WEIGHT_READER_H_

#include <bit>
#include <cstdint>

#include "core/base/weight_format.h"
#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/fragments.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {

struct WeightReader {
  WeightReader() = default;
  WeightReader(CudaDevice& device, const DeviceWeight& weight)
      : format(weight.format),
        order({weight.rows, weight.pairs.pairs, weight.pairs.distance}),
        columns(weight.columns),
        stride(weight.stride),
        words(device, weight.numbers),
        scales(device, weight.scales) {}

  // Columns of a tile.
  BANYAN_DEVICE int width() const {
    return format == WeightFormat::kF32    ? 1
           : format == WeightFormat::kBf16 ? 16
                                           : 32;
  }
  BANYAN_DEVICE int tiles() const {  // along a row
    return (columns + width() - 1) / width();
  }
  BANYAN_DEVICE int row_tiles() const { return (order.stored() + 15) / 16; }
  // The first word of a tile.
  BANYAN_DEVICE std::int64_t Tile(int row_tile, int tile) const {
    const std::int64_t number = std::int64_t{row_tile} * tiles() + tile;
    return number * (format == WeightFormat::kF32 ? 16 : 128);
  }
  // Of a row as it is stored.
  BANYAN_DEVICE float Scale(int row, int tile) const {
    const std::int64_t number = std::int64_t{row / 16} * tiles() + tile;
    const std::uint32_t both = scales.Read(number * 8 + row % 8);
    return FromBf16(row % 16 < 8 ? both & 0xffffU : both >> 16);
  }
  BANYAN_DEVICE float Read(int row, int column) const {
    if (stride > 0) {
      const std::uint32_t both = words.Read((row * stride + column) / 2);
      return FromBf16(column % 2 == 0 ? both & 0xffffU : both >> 16);
    }
    row = order.Stored(row);
    const int tile = column / width();
    const std::int64_t first = Tile(row / 16, tile);
    if (format == WeightFormat::kF32)
      return std::bit_cast<float>(words.Read(first + row % 16));
    const int each = width() / 8;
    const FragmentPlace place = InWeightTile(row % 16, column % width(), each);
    const std::uint32_t word = words.Read(first + place.lane * 4 + place.word);
    if (format == WeightFormat::kBf16)
      return FromBf16((word >> (16 * place.part)) & 0xffffU);
    const auto quant =
        static_cast<std::int8_t>((word >> (8 * place.part)) & 0xffU);
    return static_cast<float>(quant) * Scale(row, tile);
  }

  WeightFormat format;
  RowOrder order;
  int columns = 0;
  std::int64_t stride = 0;
  Global<const std::uint32_t> words;
  Global<const std::uint32_t> scales;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_WEIGHT_READER_H_
