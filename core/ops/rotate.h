// Rotate: heads of queries or keys turned by their position.
#ifndef BANYAN_CORE_OPS_ROTATE_H_
#define BANYAN_CORE_OPS_ROTATE_H_

#include "core/ops/tensor.h"

namespace banyan {

// Each row of x is heads * head_dim numbers, changed in place:
// 1. with a `norm_weight` (one row of head_dim), each head is divided by its
//    root mean square and multiplied by the weight, as in norm.h;
// 2. with `angles`, numbers i and i + head_dim / 2 of each head turn by angle i
//    of the row: (a cos - b sin, b cos + a sin). A row of `angles` holds
//    head_dim / 2 cosines, then as many sines;
// 3. everything is multiplied by `scale`.
struct RotateArgs {
  Tensor x;
  int head_dim;
  Tensor angles;       // may be empty
  Tensor norm_weight;  // may be empty
  float epsilon = 0;
  float scale = 1;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_ROTATE_H_
