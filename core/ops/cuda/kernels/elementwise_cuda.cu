// Activate and Copy: a number a thread.
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

struct ActivateKernel {
  static constexpr const char* kName = "activate";
  bool gelu;
  Matrix<const float> x;
  Matrix<const float> up;
  Matrix<float> y;
  bool add;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const auto [row, column] = PlaceOf(t, x.columns);
    if (row >= x.rows) return;
    float value = Activated(gelu, x.Read(row, column));
    if (!up.empty()) value *= up.Read(row, column);
    y.Write(row, column, add ? y.Read(row, column) + value : value);
  }
};

struct CopyKernel {
  static constexpr const char* kName = "copy";
  Matrix<const float> x;
  Matrix<float> y;
  Global<const std::int32_t> rows;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const auto [row, column] = PlaceOf(t, y.columns);
    if (row >= y.rows) return;
    const int from = rows.empty() ? row : rows.Read(row);
    if (from >= 0) y.Write(row, column, x.Read(from, column));
  }
};

}  // namespace

void LaunchActivate(CudaDevice& device, const ActivateLaunch& launch) {
  if (launch.x.rows == 0 || launch.x.columns == 0) return;
  Launch(device, ForEachNumber(launch.x),
         ActivateKernel{launch.gelu,
                        {device, launch.x},
                        {device, launch.up},
                        {device, launch.y},
                        launch.add});
}

void LaunchCopy(CudaDevice& device, const CopyLaunch& launch) {
  if (launch.y.rows == 0 || launch.y.columns == 0) return;
  Launch(device, ForEachNumber(launch.y),
         CopyKernel{
             {device, launch.x}, {device, launch.y}, {device, launch.rows}});
}

}  // namespace banyan::BANYAN_MAKER
