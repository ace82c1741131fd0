// What surrounds a product that a library makes: activations rounded to rows of
// bfloat16s, two a thread, and rows of y that begin with the bias.
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

struct RoundRowsKernel {
  static constexpr const char* kName = "round_rows";
  Matrix<const float> x;
  Global<std::uint32_t> y;
  std::int64_t words;  // of a row

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const std::int64_t word = ThingOf(t);
    if (word >= words * x.rows) return;
    const auto row = static_cast<int>(word / words);
    const auto column = static_cast<int>(word % words * 2);
    const auto number = [&](int at) {
      return at < x.columns ? ToBf16(x.Read(row, at)) : 0U;
    };
    y.Write(word, number(column) | number(column + 1) << 16);
  }
};

struct StartRowsKernel {
  static constexpr const char* kName = "start_rows";
  Matrix<const float> bias;
  Matrix<float> y;
  bool add;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const auto [row, column] = PlaceOf(t, y.columns);
    if (row >= y.rows) return;
    const float before = add ? y.Read(row, column) : 0.0F;
    y.Write(row, column, before + bias.Read(0, column));
  }
};

}  // namespace

void LaunchRoundRows(CudaDevice& device, const RoundRowsLaunch& launch) {
  const std::int64_t words = launch.stride / 2;
  Launch(device, ForEach(words * launch.x.rows),
         RoundRowsKernel{{device, launch.x}, {device, launch.y}, words});
}

void LaunchStartRows(CudaDevice& device, const StartRowsLaunch& launch) {
  Launch(
      device, ForEachNumber(launch.y),
      StartRowsKernel{{device, launch.bias}, {device, launch.y}, launch.add});
}

}  // namespace banyan::BANYAN_MAKER
