// Norm: a block a row.
#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/normed_rows.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {
namespace {

struct NormKernel {
  static constexpr const char* kName = "norm";
  NormedRows rows;
  Matrix<float> y;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int row = t.block();
    const NormedRows::Size size = rows.SizeOf(t, row);
    for (int i = t.index(); i < rows.x.columns; i += kNormThreads)
      y.Write(row, i, rows.Value(size, row, i));
  }
};

}  // namespace

void LaunchNorm(CudaDevice& device, const NormArgs& args) {
  if (args.x.rows == 0) return;
  Launch(device,
         {.blocks = args.x.rows,
          .threads = kNormThreads,
          .shared_bytes = kNormSharedBytes},
         NormKernel{{device, args}, {device, args.y}});
}

}  // namespace banyan::BANYAN_MAKER
