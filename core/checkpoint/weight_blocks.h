// Numbers stored in blocks that share their scales, as GGUF files have them.
#ifndef BANYAN_CORE_CHECKPOINT_WEIGHT_BLOCKS_H_
#define BANYAN_CORE_CHECKPOINT_WEIGHT_BLOCKS_H_

#include <cstddef>

#include "core/base/dtype.h"

namespace banyan {

// Writes the numbers of `count` / DTypeBlock(dtype) whole blocks to `out`, in
// float32 and in the order of operations that the format's own library has: a
// scale times its own scale first, then the number, then the offset. Returns
// whether all are finite. Requires a type of blocks.
bool FloatsFromBlocks(DType dtype, const std::byte* from, std::size_t count,
                      float* out);

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_WEIGHT_BLOCKS_H_
