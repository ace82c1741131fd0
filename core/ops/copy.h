// Copy: rows kept while the buffer they stand in goes on being used.
#ifndef BANYAN_CORE_OPS_COPY_H_
#define BANYAN_CORE_OPS_COPY_H_

#include "core/ops/tensor.h"

namespace banyan {

// y = x, which have one shape and do not overlap. With `rows`, row i of y
// becomes row rows[i] of x, and stays what it is where that is -1.
struct CopyArgs {
  Tensor x;
  Tensor y;
  Ints rows = {};
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_COPY_H_
