// Rows brought to a standard size, a block a row. A thread adds the squares of
// every kNormThreads-th number, the block adds the threads' sums as BlockSum
// does.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_NORMED_ROWS_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_NORMED_ROWS_H_

#include <cmath>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {

constexpr int kNormThreads = 256;
constexpr int kNormSharedBytes =
    kNormThreads / 32 * static_cast<int>(sizeof(float));

struct NormedRows {
  NormedRows(CudaDevice& device, const NormArgs& args)
      : x(device, args.x),
        weight(device, args.weight),
        bias(device, args.bias),
        epsilon(args.epsilon),
        center(args.center) {}

  struct Size {
    float mean = 0;
    float scale = 0;
  };

  // By all threads of a block.
  BANYAN_DEVICE Size SizeOf(const Thread& t, int row) const {
    const Shared<float> sums = t.SharedArray<float>(0, kNormThreads / 32);
    const auto count = static_cast<float>(x.columns);
    Size size;
    if (center) {
      float sum = 0;
      for (int i = t.index(); i < x.columns; i += kNormThreads)
        sum += x.Read(row, i);
      size.mean = BlockSum(t, sums, sum) / count;
    }
    float squares = 0;
    for (int i = t.index(); i < x.columns; i += kNormThreads) {
      const float off = x.Read(row, i) - size.mean;
      squares = fmaf(off, off, squares);
    }
    squares = BlockSum(t, sums, squares) / count;
    // Of an infinite sum the quotient would be 0.
    size.scale =
        IsFinite(squares) ? 1.0F / sqrtf(squares + epsilon) : squares - squares;
    return size;
  }
  BANYAN_DEVICE float Value(const Size& size, int row, int column) const {
    float value =
        (x.Read(row, column) - size.mean) * size.scale * weight.Read(0, column);
    if (!bias.empty()) value += bias.Read(0, column);
    return value;
  }

  Matrix<const float> x;
  Matrix<const float> weight;
  Matrix<const float> bias;
  float epsilon;
  bool center;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_NORMED_ROWS_H_
