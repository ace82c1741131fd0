// Norm: a block a row.
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/normed_rows.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {
namespace {

struct NormKernel {
  static constexpr const char* kName = "norm";
  static constexpr bool kAwaits = true;
  NormedRows rows;
  Matrix<float> y;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const int row = t.block();
    const NormedRows::Size size = rows.SizeOf(t, row);
    for (int i = t.index(); i < rows.x.columns; i += kNormThreads)
      y.Write(row, i, rows.Value(size, row, i));
  }
};

// A thread a sum.
struct SquaresKernel {
  static constexpr const char* kName = "squares";
  static constexpr bool kAwaits = true;
  Matrix<const float> x;
  Matrix<float> squares;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const Place at = PlaceOf(t, squares.columns);
    if (at.row < x.rows)
      squares.Write(at.row, at.column,
                    SquaresOf(at.column, x.columns, [&](int column) {
                      return x.Read(at.row, column);
                    }));
  }
};

}  // namespace

void LaunchNorm(CudaDevice& device, const NormArgs& args) {
  if (args.x.rows == 0) return;
  Launch(device,
         {.blocks = args.x.rows,
          .threads = kNormThreads,
          .shared_bytes = NormedRows::SharedBytes(args)},
         NormKernel{{device, args}, {device, args.y}});
}

void LaunchSquares(CudaDevice& device, const SquaresLaunch& launch) {
  if (launch.x.rows == 0) return;
  Launch(device, ForEachNumber(launch.squares),
         SquaresKernel{{device, launch.x}, {device, launch.squares}});
}

}  // namespace banyan::BANYAN_MAKER
