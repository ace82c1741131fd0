// Linear: activations times the transpose of a weight.
#ifndef BANYAN_CORE_OPS_LINEAR_H_
#define BANYAN_CORE_OPS_LINEAR_H_

#include "core/ops/tensor.h"
#include "core/ops/weight.h"

namespace banyan {

// 127 / m is a float for every m from here on.
inline constexpr float kQ8Least = 0x1p-120F;

// y[i][j] = sum over k of x[i][k] * weight[j][k] (+ bias[j]), or y[i][j] += it
// where `add`. Writes the y.columns == weight.rows() numbers of each row and no
// more; numbers between the columns of x and its stride are read and ignored.
// y does not overlap x.
//
// The sum starts at 0 and takes one fused multiply-add per k, in the order of
// k; a sum of zero is +0. Then come the bias and what was in y. With kQ8 each
// row of x is quantised in blocks of 32: with m its largest magnitude,
// x = (m / 127) * q where q is x * (127 / m) rounded to the nearest, ties to
// even (all 0 if m is below kQ8Least). A block's products are summed exactly,
// and one fused multiply-add per block takes (that sum as float, times m / 127)
// times the weight's scale.
struct LinearArgs {
  Tensor x;
  const Weight* weight;
  Tensor bias;  // one row; may be empty
  Tensor y;
  bool add = false;
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_LINEAR_H_
