// What a device can do at most: a plain read of a buffer, and the products that
// Linear is made of, from registers. Their results are written if they are what
// they cannot be, so that no compiler leaves them out.
#include <array>
#include <cmath>
#include <cstdint>

#include "core/base/weight_format.h"
#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

// Four independent loads or sums a thread hide what one takes.
constexpr int kAtOnce = 4;

// All threads side by side, 16 bytes each, until the end. The buffer holds
// zeros.
struct ReadAllKernel {
  static constexpr const char* kName = "read_all";
  Global<const std::uint32_t> numbers;
  Global<std::uint32_t> odd;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const std::int64_t threads = std::int64_t{t.blocks()} * t.threads();
    const std::int64_t packs = numbers.size() / 4;
    std::uint32_t all = 0;
    for (std::int64_t at = std::int64_t{t.block()} * t.threads() + t.index();
         at < packs; at += threads * kAtOnce) {
      BANYAN_UNROLL for (int i = 0; i < kAtOnce; ++i) {
        const std::int64_t pack = at + i * threads;
        if (pack >= packs) continue;
        const Pack<std::uint32_t, 4> four =
            numbers.template ReadPack<4>(pack * 4);
        all |= four.at[0] | four.at[1] | four.at[2] | four.at[3];
      }
    }
    if (all != 0) odd.Write(0, all);
  }
};

// `rounds` of kAtOnce products. Of a format with fragments they are a warp's.
// No two sums begin alike, or they would be one; all stay small and positive.
template <WeightFormat kFormat>
struct MultiplyAllKernel {
  static constexpr const char* kName = "multiply_all";
  int rounds;
  Global<std::uint32_t> odd;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    float sum = 0;
    if constexpr (kFormat == WeightFormat::kF32) {
      const float x = static_cast<float>(t.lane() + 1) * 0x1p-10F;
      float sums[kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) sums[i] = static_cast<float>(i);
      for (int round = 0; round < rounds; ++round)
        BANYAN_UNROLL for (int i = 0; i < kAtOnce; ++i) sums[i] =
            fmaf(sums[i], x, x);
      for (int i = 0; i < kAtOnce; ++i) sum += sums[i];
    } else if constexpr (kFormat == WeightFormat::kBf16) {
      // Pairs of about 2^-10.
      const std::uint32_t x =
          0x3a803a80U + static_cast<std::uint32_t>(t.lane()) * 0x10001U;
      std::array<float, 4> sums[kAtOnce] = {};
      for (int i = 0; i < kAtOnce; ++i) sums[i][0] = static_cast<float>(i);
      for (int round = 0; round < rounds; ++round)
        BANYAN_UNROLL for (int i = 0; i < kAtOnce; ++i)
            t.Multiply({x, x, x, x}, {x, x}, sums[i]);
      for (int i = 0; i < kAtOnce; ++i) sum += sums[i][0] + sums[i][3];
    } else {
      const std::uint32_t x = 0x01010101U;
      std::array<std::int32_t, 4> sums[kAtOnce] = {};
      for (int i = 0; i < kAtOnce; ++i) sums[i][0] = i;
      for (int round = 0; round < rounds; ++round)
        BANYAN_UNROLL for (int i = 0; i < kAtOnce; ++i)
            t.MultiplyBytes({x, x, x, x}, {x, x}, sums[i]);
      for (int i = 0; i < kAtOnce; ++i)
        sum += static_cast<float>(sums[i][0] + sums[i][3]);
    }
    if (sum == -1.0F) odd.Write(0, 1);
  }
};

template <WeightFormat kFormat>
void Multiply(CudaDevice& device, const MultiplyAllLaunch& launch) {
  Launch(device,
         {.blocks = launch.blocks, .threads = MultiplyAllLaunch::kThreads},
         MultiplyAllKernel<kFormat>{launch.rounds, {device, launch.odd}});
}

}  // namespace

void LaunchReadAll(CudaDevice& device, const ReadAllLaunch& launch) {
  Launch(device, {.blocks = launch.blocks, .threads = 256},
         ReadAllKernel{{device, launch.numbers}, {device, launch.odd}});
}

void LaunchMultiplyAll(CudaDevice& device, const MultiplyAllLaunch& launch) {
  switch (launch.format) {
    case WeightFormat::kF32:
      return Multiply<WeightFormat::kF32>(device, launch);
    case WeightFormat::kBf16:
      return Multiply<WeightFormat::kBf16>(device, launch);
    case WeightFormat::kQ8:
      return Multiply<WeightFormat::kQ8>(device, launch);
    default:  // NoFourBits()
      break;
  }
}

double OperationsOfMultiplyAll(const MultiplyAllLaunch& launch) {
  const double warps = launch.blocks * (MultiplyAllLaunch::kThreads / 32.0);
  // A multiplication and an addition each: of 32 lanes, of a fragment of 16 by
  // 16 by 8, or of 16 by 32 by 8.
  const double of_one = launch.format == WeightFormat::kF32 ? 2.0 * 32
                        : launch.format == WeightFormat::kBf16
                            ? 2.0 * 16 * 16 * 8
                            : 2.0 * 16 * 32 * 8;
  return warps * launch.rounds * kAtOnce * of_one;
}

}  // namespace banyan::BANYAN_MAKER
