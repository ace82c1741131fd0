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

// Rows [first, first + 16) of a matrix as `order` has them stored; those that
// are none are 0. Fails as `source` does.
absl::Status PackTileRow(WeightFormat format, int first, const RowOrder& order,
                         int columns, WeightRows source, TileRow& out);

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_CUDA_PACK_WEIGHT_H_
