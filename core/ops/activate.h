// Activate: the nonlinearity of a feed-forward block.
#ifndef BANYAN_CORE_OPS_ACTIVATE_H_
#define BANYAN_CORE_OPS_ACTIVATE_H_

#include "core/ops/tensor.h"

namespace banyan {

enum class Nonlinearity {
  kSilu,      // x / (1 + exp(-x))
  kGeluTanh,  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
};

// y = f(x), or f(x) * up where `up` is not empty; or y += that. y may be x.
struct ActivateArgs {
  Nonlinearity function;
  Tensor x;
  Tensor up;  // may be empty
  Tensor y;
  bool add = false;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_ACTIVATE_H_
