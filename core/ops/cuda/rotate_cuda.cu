// Rotate: a warp a head of a row. A lane has every 32nd pair of numbers;
// squares are added pair by pair, then along lanes by halves.
#include <cmath>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/launches.h"
#include "core/ops/cuda/matrix.h"
#include "core/ops/cuda/numbers.h"
#include "core/ops/cuda/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kWarps = 4;

struct RotateKernel {
  static constexpr const char* kName = "rotate";
  Matrix<float> x;
  int head_dim;
  Matrix<const float> angles;
  Matrix<const float> norm_weight;
  float epsilon;
  float scale;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int heads = x.columns / head_dim;
    const int item = t.block() * kWarps + t.warp();
    if (item >= x.rows * heads) return;  // a whole warp
    const int row = item / heads;
    const int first = item % heads * head_dim;
    const int half = head_dim / 2;
    float by = 1;
    if (!norm_weight.empty()) {
      float squares = 0;
      for (int i = t.lane(); i < head_dim; i += 32) {
        const float number = x.Read(row, first + i);
        squares = fmaf(number, number, squares);
      }
      for (int lanes = 16; lanes > 0; lanes /= 2)
        squares += t.ShuffleXor(squares, lanes);
      t.SyncWarp();  // all have read what is written below
      squares /= static_cast<float>(head_dim);
      by = IsFinite(squares) ? 1.0F / sqrtf(squares + epsilon)
                             : squares - squares;
    }
    for (int i = t.lane(); i < half; i += 32) {
      float a = x.Read(row, first + i);
      float b = x.Read(row, first + half + i);
      if (!norm_weight.empty()) {
        a = a * by * norm_weight.Read(0, i);
        b = b * by * norm_weight.Read(0, half + i);
      }
      if (!angles.empty()) {
        const float cosine = angles.Read(row, i);
        const float sine = angles.Read(row, half + i);
        const float turned = fmaf(a, cosine, -(b * sine));
        b = fmaf(b, cosine, a * sine);
        a = turned;
      }
      x.Write(row, first + i, a * scale);
      x.Write(row, first + half + i, b * scale);
    }
  }
};

}  // namespace

void LaunchRotate(CudaDevice& device, const RotateLaunch& launch) {
  const int items = launch.x.rows * (launch.x.columns / launch.head_dim);
  if (items == 0) return;
  Launch(device,
         {.blocks = (items + kWarps - 1) / kWarps, .threads = kWarps * 32},
         RotateKernel{{device, launch.x},
                      launch.head_dim,
                      {device, launch.angles},
                      {device, launch.norm_weight},
                      launch.epsilon,
                      launch.scale});
}

}  // namespace banyan::BANYAN_MAKER
