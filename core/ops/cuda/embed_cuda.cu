// Embed: a number a thread.
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/launches.h"
#include "core/ops/cuda/matrix.h"
#include "core/ops/cuda/op_kernels.h"
#include "core/ops/cuda/weight_reader.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kThreads = 256;

struct EmbedKernel {
  static constexpr const char* kName = "embed";
  Global<const std::int32_t> ids;
  WeightReader table;
  Matrix<float> y;
  bool add;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const std::int64_t i = std::int64_t{t.block()} * kThreads + t.index();
    const auto row = static_cast<int>(i / y.columns);
    const auto column = static_cast<int>(i % y.columns);
    if (row >= y.rows) return;
    const float number = table.Read(ids.Read(row), column);
    y.Write(row, column, add ? y.Read(row, column) + number : number);
  }
};

}  // namespace

void LaunchEmbed(CudaDevice& device, const EmbedLaunch& launch) {
  const std::int64_t numbers = std::int64_t{launch.y.rows} * launch.y.columns;
  if (numbers == 0) return;
  Launch(device,
         {.blocks = static_cast<int>((numbers + kThreads - 1) / kThreads),
          .threads = kThreads},
         EmbedKernel{{device, launch.ids},
                     {device, launch.table},
                     {device, launch.y},
                     launch.add});
}

}  // namespace banyan::BANYAN_MAKER
