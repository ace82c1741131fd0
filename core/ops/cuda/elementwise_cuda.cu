// Activate and Copy: a number a thread.
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/launches.h"
#include "core/ops/cuda/matrix.h"
#include "core/ops/cuda/numbers.h"
#include "core/ops/cuda/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kThreads = 256;

struct Place {
  int row;
  int column;
};

BANYAN_DEVICE Place PlaceOf(const Thread& t, int columns) {
  const std::int64_t i = std::int64_t{t.block()} * kThreads + t.index();
  return {static_cast<int>(i / columns), static_cast<int>(i % columns)};
}

LaunchShape ShapeFor(const DeviceMatrix& x) {
  const std::int64_t numbers = std::int64_t{x.rows} * x.columns;
  return {.blocks = static_cast<int>((numbers + kThreads - 1) / kThreads),
          .threads = kThreads};
}

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

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const auto [row, column] = PlaceOf(t, x.columns);
    if (row < x.rows) y.Write(row, column, x.Read(row, column));
  }
};

}  // namespace

void LaunchActivate(CudaDevice& device, const ActivateLaunch& launch) {
  if (launch.x.rows == 0 || launch.x.columns == 0) return;
  Launch(device, ShapeFor(launch.x),
         ActivateKernel{launch.gelu,
                        {device, launch.x},
                        {device, launch.up},
                        {device, launch.y},
                        launch.add});
}

void LaunchCopy(CudaDevice& device, const CopyLaunch& launch) {
  if (launch.x.rows == 0 || launch.x.columns == 0) return;
  Launch(device, ShapeFor(launch.x),
         CopyKernel{{device, launch.x}, {device, launch.y}});
}

}  // namespace banyan::BANYAN_MAKER
