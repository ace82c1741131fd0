// Activate and Copy: a number a thread.
#include <cstddef>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/device/cuda/span.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {
namespace {

struct ActivateKernel {
  static constexpr const char* kName = "activate";
  static constexpr bool kAwaits = true;
  bool gelu;
  Matrix<const float> x;
  Matrix<const float> up;
  Matrix<float> y;
  bool add;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const auto [row, column] = PlaceOf(t, x.columns);
    if (row >= x.rows) return;
    float value = Activated(gelu, x.Read(row, column));
    if (!up.empty()) value *= up.Read(row, column);
    y.Write(row, column, add ? y.Read(row, column) + value : value);
  }
};

struct CopyKernel {
  static constexpr const char* kName = "copy";
  static constexpr bool kAwaits = true;
  Matrix<const float> x;
  Matrix<float> y;
  Global<const std::int32_t> rows;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const auto [row, column] = PlaceOf(t, y.columns);
    if (row >= y.rows) return;
    const int from = rows.empty() ? row : rows.Read(row);
    if (from >= 0) y.Write(row, column, x.Read(from, column));
  }
};

}  // namespace

void LaunchActivate(CudaDevice& device, const ActivateArgs& args) {
  if (args.x.rows == 0 || args.x.columns == 0) return;
  Launch(device, ForEachNumber(args.x),
         ActivateKernel{args.function == Nonlinearity::kGeluTanh,
                        {device, args.x},
                        {device, args.up},
                        {device, args.y},
                        args.add});
}

void LaunchCopy(CudaDevice& device, const CopyArgs& args) {
  if (args.y.rows == 0 || args.y.columns == 0) return;
  const DeviceSpan rows =
      args.rows.buffer == nullptr
          ? DeviceSpan()
          : ListOf(args.rows, static_cast<std::size_t>(args.y.rows));
  Launch(device, ForEachNumber(args.y),
         CopyKernel{{device, args.x}, {device, args.y}, {device, rows}});
}

}  // namespace banyan::BANYAN_MAKER
