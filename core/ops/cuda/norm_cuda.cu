// Norm: a block a row. A thread adds the squares of every kThreads-th number,
// the block adds the threads' sums as BlockSum does.
#include <cmath>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/launches.h"
#include "core/ops/cuda/matrix.h"
#include "core/ops/cuda/numbers.h"
#include "core/ops/cuda/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kThreads = 256;

struct NormKernel {
  static constexpr const char* kName = "norm";
  Matrix<const float> x;
  Matrix<const float> weight;
  Matrix<const float> bias;
  float epsilon;
  bool center;
  Matrix<float> y;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const Shared<float> sums = t.SharedArray<float>(0, kThreads / 32);
    const int row = t.block();
    const auto size = static_cast<float>(x.columns);
    float mean = 0;
    if (center) {
      float sum = 0;
      for (int i = t.index(); i < x.columns; i += kThreads)
        sum += x.Read(row, i);
      mean = BlockSum(t, sums, sum) / size;
    }
    float squares = 0;
    for (int i = t.index(); i < x.columns; i += kThreads) {
      const float off = x.Read(row, i) - mean;
      squares = fmaf(off, off, squares);
    }
    squares = BlockSum(t, sums, squares) / size;
    // Of an infinite sum the quotient would be 0.
    const float scale =
        IsFinite(squares) ? 1.0F / sqrtf(squares + epsilon) : squares - squares;
    for (int i = t.index(); i < x.columns; i += kThreads) {
      float value = (x.Read(row, i) - mean) * scale * weight.Read(0, i);
      if (!bias.empty()) value += bias.Read(0, i);
      y.Write(row, i, value);
    }
  }
};

}  // namespace

void LaunchNorm(CudaDevice& device, const NormLaunch& launch) {
  if (launch.x.rows == 0) return;
  Launch(device,
         {.blocks = launch.x.rows,
          .threads = kThreads,
          .shared_bytes = kThreads / 32 * static_cast<int>(sizeof(float))},
         NormKernel{{device, launch.x},
                    {device, launch.weight},
                    {device, launch.bias},
                    launch.epsilon,
                    launch.center,
                    {device, launch.y}});
}

}  // namespace banyan::BANYAN_MAKER
