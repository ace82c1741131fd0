// Embed: rows of a weight, by number.
#ifndef BANYAN_CORE_OPS_EMBED_H_
#define BANYAN_CORE_OPS_EMBED_H_

#include "core/ops/tensor.h"
#include "core/ops/weight.h"

namespace banyan {

// y[i] = table[ids[i]], or y[i] += where `add`. Requires ids within the table.
struct EmbedArgs {
  Ints ids;
  const Weight* table;
  Tensor y;
  bool add = false;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_EMBED_H_
