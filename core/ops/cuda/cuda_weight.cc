#include "core/ops/cuda/cuda_weight.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/device/buffer.h"
#include "core/device/cuda/device.h"
#include "core/device/thread_pool.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/cuda/pack_weight.h"
#include "core/ops/host/host_weight.h"
#include "core/ops/weight.h"

namespace banyan {
namespace {

// Numbers of a matrix that are read before they are packed: 16 MB.
constexpr std::size_t kReadNumbers = std::size_t{4} << 20;

int Threads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1,
                    16);
}

}  // namespace

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
  // Rows are read in order by this thread, some at a time, and packed by all.
  const auto row = static_cast<std::size_t>(columns);
  const std::size_t at_once =
      std::clamp<std::size_t>(kReadNumbers / (row * kTileRows), 1, tiles);
  std::vector<float> read(at_once * kTileRows * row);
  std::vector<TileRow> packed(at_once);
  std::vector<absl::Status> told(at_once);
  std::optional<ThreadPool> pool;
  if (tiles > at_once) pool.emplace(Threads());
  for (std::size_t first = 0; first < tiles; first += at_once) {
    const std::size_t now = std::min(at_once, tiles - first);
    const int first_row = static_cast<int>(first) * kTileRows;
    const int rows_now =
        std::min(static_cast<int>(now) * kTileRows, order.stored() - first_row);
    BANYAN_RETURN_IF_ERROR(
        ReadStored(order, first_row, rows_now, columns, source, read.data()));
    const auto pack = [&](int i) {
      const auto at = static_cast<std::size_t>(i);
      told[at] =
          PackTileRow(format, std::min(kTileRows, rows_now - i * kTileRows),
                      columns, read.data() + at * kTileRows * row, packed[at]);
    };
    if (pool.has_value()) {
      pool->Run(static_cast<int>(now), pack);
    } else {
      for (std::size_t i = 0; i < now; ++i) pack(static_cast<int>(i));
    }
    for (std::size_t i = 0; i < now; ++i) {
      BANYAN_RETURN_IF_ERROR(told[i]);
      BANYAN_RETURN_IF_ERROR(
          copy(AsBytes(packed[i].numbers),
               weight.numbers.Part((first + i) * words, words)));
      if (scales > 0)
        BANYAN_RETURN_IF_ERROR(
            copy(AsBytes(packed[i].scales),
                 weight.scales.Part((first + i) * scales, scales)));
    }
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
