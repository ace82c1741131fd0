// Stored numbers as f32, exactly: every F16 and BF16 number is an f32 number,
// and what blocks stand for is computed in f32.
// Whoever reads a weight reads it here, so here it is seen whether it is a
// number.
#ifndef BANYAN_CORE_CHECKPOINT_WEIGHT_ROWS_H_
#define BANYAN_CORE_CHECKPOINT_WEIGHT_ROWS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "core/base/number_rows.h"
#include "core/base/weight_format.h"
#include "core/checkpoint/architecture.h"
#include "core/checkpoint/stored_tensor.h"

namespace banyan {

// Numbers stored in blocks that share their scales, as GGUF files have them.

// Writes the numbers of `count` / DTypeBlock(dtype) whole blocks to `out`, in
// float32 and in the order of operations that the format's own library has: a
// scale times its own scale first, then the number, then the offset. Returns
// whether all are finite. Requires a type of blocks.
bool FloatsFromBlocks(DType dtype, const std::byte* from, std::size_t count,
                      float* out);

// That `tensor` is what `source` describes: its shape, and a type of weights:
// F32, F16, BF16, or blocks in whose rows it is read. InvalidArgument
// otherwise, "expected shape [2, 3], found [3, 2]"; the caller adds the place.
absl::Status CheckStored(const StoredTensor& tensor,
                         const WeightSource& source);

// Rows [first, first + count), to be kept in `format`.
struct RowRange {
  int first = 0;
  int count = 0;
  WeightFormat format = WeightFormat::kF32;
};

// Writes these rows of `source`, of source.columns numbers each, one after the
// other to `out`. `tensor` has passed CheckStored; the rows exist. Transposed
// weights are read well for 16 rows or more at once. InvalidArgument if one is
// NaN, infinite, or so large that it would be in the format, with its place in
// the tensor: "row 2, column 3: expected a finite number, found nan". DataLoss
// if the file was cut or damaged.
absl::Status ReadRows(const StoredTensor& tensor, const WeightSource& source,
                      const RowRange& rows, float* out);

// Writes the blocks of these rows, as they are stored, to `out`. Requires a
// tensor of blocks. DataLoss if the file was cut.
absl::Status ReadBlocks(const StoredTensor& tensor, const WeightSource& source,
                        const RowRange& rows, std::byte* out);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_WEIGHT_ROWS_H_
