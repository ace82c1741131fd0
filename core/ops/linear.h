// Linear: activations times the transpose of a weight.
#ifndef BANYAN_CORE_OPS_LINEAR_H_
#define BANYAN_CORE_OPS_LINEAR_H_

#include <variant>

#include "absl/types/span.h"
#include "core/ops/activate.h"
#include "core/ops/attention.h"
#include "core/ops/norm.h"
#include "core/ops/tensor.h"
#include "core/ops/weight.h"

namespace banyan {

// 127 / m is a float for every m from here on.
inline constexpr float kQ8Least = 0x1p-120F;

// y[i][j] = sum over k of x[i][k] * weight[j][k] (+ bias[j]), or y[i][j] += it
// where `add`. Writes the y.columns == weight.rows() numbers of each row and no
// more. y does not overlap x.
//
// With kQ8 each row of x is quantised in blocks of 32 first: with m the largest
// magnitude of a block, x = (m / 127) * q where q is x * (127 / m), in 32-bit
// floats, rounded to the nearest, ties to even (all 0 if m is below kQ8Least).
// If m is not finite, the whole row of y is NaN.
//
// A source is an op whose result x is: it is done first. A device may make the
// rows where the product reads them, and then does not write x.
using LinearInput = std::variant<std::monostate, NormArgs, ActivateArgs,
                                 absl::Span<const AttentionArgs>>;
struct LinearArgs {
  Tensor x;
  const Weight* weight;
  Tensor bias;  // one row; may be empty
  Tensor y;
  bool add = false;
  LinearInput source = {};
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_LINEAR_H_
