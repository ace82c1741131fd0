// Norm: each row brought to a standard size.
#ifndef BANYAN_CORE_OPS_NORM_H_
#define BANYAN_CORE_OPS_NORM_H_

#include "core/ops/tensor.h"

namespace banyan {

// y = x / sqrt(mean(x^2) + epsilon) * weight, the root mean square norm; with
// `center` the row's mean is subtracted from x first, and `bias` added last,
// the layer norm. `weight` and `bias` are one row each. y may be x.
struct NormArgs {
  Tensor x;
  Tensor weight;
  Tensor bias;  // may be empty
  float epsilon;
  bool center = false;
  Tensor y;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_NORM_H_
