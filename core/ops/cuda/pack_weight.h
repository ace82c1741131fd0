// A matrix in the tiles that kernels load (op_kernels.h), 16 rows at a time.
#ifndef BANYAN_CORE_OPS_CUDA_PACK_WEIGHT_H_
#define BANYAN_CORE_OPS_CUDA_PACK_WEIGHT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/base/weight_format.h"
#include "core/ops/cuda/device/fragments.h"
#include "core/ops/weight.h"

namespace banyan {

inline constexpr int kTileRows = 16;

// Words of the numbers and of the scales of 16 rows.
std::size_t TileRowWords(WeightFormat format, int columns);
std::size_t TileRowScales(WeightFormat format, int columns);

struct TileRow {
  std::vector<std::uint32_t> numbers;
  std::vector<std::uint32_t> scales;
};

// Reads the rows that `order` has stored from `first` on, `count` of them;
// those that are none are 0. Fails as `source` does.
absl::Status ReadStored(const RowOrder& order, int first, int count,
                        int columns, WeightRows source, float* out);

// Packs at most 16 rows, which stand one after the other.
absl::Status PackTileRow(WeightFormat format, int rows, int columns,
                         const float* numbers, TileRow& out);

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_PACK_WEIGHT_H_
