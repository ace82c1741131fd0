// Embed: a number a thread.
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/weight_reader.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

struct EmbedKernel {
  static constexpr const char* kName = "embed";
  static constexpr bool kAwaits = true;
  Global<const std::int32_t> ids;
  WeightReader table;
  Matrix<float> y;
  bool add;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const auto [row, column] = PlaceOf(t, y.columns);
    if (row >= y.rows) return;
    const float number = table.Read(ids.Read(row), column);
    y.Write(row, column, add ? y.Read(row, column) + number : number);
  }
};

}  // namespace

void LaunchEmbed(CudaDevice& device, const EmbedLaunch& launch) {
  if (launch.y.rows == 0 || launch.y.columns == 0) return;
  Launch(device, ForEachNumber(launch.y),
         EmbedKernel{{device, launch.ids},
                     {device, launch.table},
                     {device, launch.y},
                     launch.add});
}

}  // namespace banyan::BANYAN_MAKER
