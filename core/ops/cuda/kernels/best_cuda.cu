// Best: the largest logits of a row, by one block, one after the other.
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/distribution_block.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kNone = 0x7fffffff;

struct BestKernel {
  static constexpr const char* kName = "best";
  Matrix<const float> logits;
  int used;
  int count;
  Global<std::int32_t> found;

  BANYAN_DEVICE void Tell(const Thread& t, int i, int token) const {
    if (t.index() != 0) return;
    const bool any = token < used;
    found.Write(2 * i, any ? token : -1);
    found.Write(2 * i + 1,
                any ? std::bit_cast<std::int32_t>(logits.Read(0, token)) : 0);
  }

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const DistributionBlock block(t, logits.columns);
    const Largest wrong = block.Best(
        [&](int i) { return i < used && !IsFinite(logits.Read(0, i)); });
    Tell(t, 0, wrong.number > 0 ? wrong.place : kNone);
    Largest last;
    for (int k = 1; k <= count; ++k) {
      // What has been found is what stands before the last of it.
      const auto left = [&](int i) {
        if (i >= used) return -static_cast<double>(INFINITY);
        const auto logit = static_cast<double>(logits.Read(0, i));
        return k == 1 || logit < last.number ||
                       (logit == last.number && i > last.place)
                   ? logit
                   : -static_cast<double>(INFINITY);
      };
      last = k == 1 ? block.Best(left) : block.BestAgain(last.place, left);
      Tell(t, k, last.number > -INFINITY ? last.place : kNone);
      if (!(last.number > -INFINITY)) last.place = 0;
    }
  }
};

}  // namespace

void LaunchBest(CudaDevice& device, const BestLaunch& launch) {
  const int vocab = launch.logits.columns;
  Launch(device,
         {.blocks = 1,
          .threads = DistributionThreads(vocab),
          .shared_bytes = DistributionSharedBytes(vocab)},
         BestKernel{{device, launch.logits},
                    launch.used,
                    launch.count,
                    {device, launch.found}});
}

}  // namespace banyan::BANYAN_MAKER
