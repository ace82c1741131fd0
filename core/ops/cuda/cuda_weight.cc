#include "core/ops/cuda/cuda_weight.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/device/buffer.h"
#include "core/device/cuda/device.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/cuda/pack_weight.h"
#include "core/ops/host/host_weight.h"
#include "core/ops/weight.h"

namespace banyan {

absl::StatusOr<std::unique_ptr<Weight>> PackTiles(
    const std::shared_ptr<CudaDevice>& device, WeightFormat format, int rows,
    int columns, RowPairs pairs, WeightRows source, CopyToDevice copy) {
  const RowOrder order = {rows, pairs.pairs, pairs.distance};
  const auto tiles =
      static_cast<std::size_t>((order.stored() + kTileRows - 1) / kTileRows);
  const std::size_t words =
      TileRowWords(format, columns) * sizeof(std::uint32_t);
  const std::size_t scales =
      TileRowScales(format, columns) * sizeof(std::uint32_t);
  DeviceWeight weight = {
      .format = format, .rows = rows, .columns = columns, .pairs = pairs};
  std::unique_ptr<Buffer> numbers;
  std::unique_ptr<Buffer> factors;
  BANYAN_ASSIGN_OR_RETURN(weight.numbers,
                          device->Allocate(tiles * words, "weights"));
  numbers = std::make_unique<CudaBuffer>(device, weight.numbers);
  if (scales > 0) {
    BANYAN_ASSIGN_OR_RETURN(weight.scales,
                            device->Allocate(tiles * scales, "weights"));
    factors = std::make_unique<CudaBuffer>(device, weight.scales);
  }
  TileRow tile_row;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    BANYAN_RETURN_IF_ERROR(PackTileRow(format,
                                       static_cast<int>(tile) * kTileRows,
                                       order, columns, source, tile_row));
    BANYAN_RETURN_IF_ERROR(copy(
        absl::MakeConstSpan(
            reinterpret_cast<const std::byte*>(tile_row.numbers.data()), words),
        weight.numbers.Part(tile * words, words)));
    if (scales > 0)
      BANYAN_RETURN_IF_ERROR(
          copy(absl::MakeConstSpan(
                   reinterpret_cast<const std::byte*>(tile_row.scales.data()),
                   scales),
               weight.scales.Part(tile * scales, scales)));
  }
  return std::make_unique<CudaWeight>(weight, std::move(numbers),
                                      std::move(factors));
}

absl::StatusOr<std::unique_ptr<Weight>> PackRows(
    const std::shared_ptr<CudaDevice>& device, WeightFormat format, int rows,
    int columns, WeightRows source, CopyToDevice copy) {
  DeviceWeight weight = {.format = format,
                         .rows = rows,
                         .columns = columns,
                         .stride = (columns + 7) / 8 * 8};  // of 16 bytes
  const auto stride = static_cast<std::size_t>(weight.stride);
  const std::size_t row_bytes = stride * sizeof(std::uint16_t);
  BANYAN_ASSIGN_OR_RETURN(
      weight.numbers,
      device->Allocate(static_cast<std::size_t>(rows) * row_bytes, "weights"));
  auto numbers = std::make_unique<CudaBuffer>(device, weight.numbers);
  std::vector<float> row(stride);
  std::vector<std::uint16_t> rounded(stride);
  for (int i = 0; i < rows; ++i) {
    // As this machine's backends round.
    BANYAN_ASSIGN_OR_RETURN(
        const std::unique_ptr<HostWeight> packed,
        HostWeight::Pack(WeightFormat::kBf16, 1, columns,
                         [&](int /*first*/, int count, float* out) {
                           return source(i, count, out);
                         }));
    packed->ReadRow(0, row.data());
    for (std::size_t j = 0; j < stride; ++j)
      rounded[j] = static_cast<std::uint16_t>(
          std::bit_cast<std::uint32_t>(row[j]) >> 16);
    BANYAN_RETURN_IF_ERROR(
        copy(absl::MakeConstSpan(
                 reinterpret_cast<const std::byte*>(rounded.data()), row_bytes),
             weight.numbers.Part(static_cast<std::size_t>(i) * row_bytes,
                                 row_bytes)));
  }
  return std::make_unique<CudaWeight>(weight, std::move(numbers), nullptr);
}

}  // namespace banyan
