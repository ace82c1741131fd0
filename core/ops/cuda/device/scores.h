// Scores of sixteen queries of one key head at sixteen slots, as products of
// fragments, and the running softmax over the scores, for the kernels of
// attention and of its mass. All lanes of a warp call each function together.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_SCORES_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_SCORES_H_

#include <array>
#include <cmath>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {

constexpr int kQueriesOfAWarp = 16;

// Calls `function` with the width that keys of `head_dim` numbers have.
template <typename Function>
void AtKvWidth(int head_dim, const Function& function) {
  switch (KvWidth(head_dim)) {
    case 32:
      return function.template operator()<32>();
    case 64:
      return function.template operator()<64>();
    case 96:
      return function.template operator()<96>();
    case 128:
      return function.template operator()<128>();
    default:
      return function.template operator()<256>();
  }
}

// Of sixteen slots, or queries' results at them, a lane has four, i of 0 .. 3.
BANYAN_DEVICE int SlotOfLane(const Thread& t, int i) {
  return i / 2 * 8 + t.lane() % 4 * 2 + i % 2;
}

// A lane's part of the queries: numbers of two, `lane / 4` and 8 on.
template <int kWidth>
struct LaneQueries {
  static constexpr int kSteps = kWidth / 16;  // of a score's sum

  // Query q of the two, from number `first` of a row on.
  BANYAN_DEVICE void Read(const Thread& t, const Matrix<const float>& queries,
                          int row, int first, int head_dim, int q) {
    BANYAN_UNROLL for (int step = 0; step < kSteps; ++step) {
      BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
        const int at = t.lane() % 4 * (kWidth / 4) + step * 4 + half * 2;
        const auto number = [&](int i) {
          return i < head_dim ? ToBf16(queries.Read(row, first + i)) : 0U;
        };
        words[step][q + half * 2] = number(at) | number(at + 1) << 16;
      }
    }
  }

  // Query q's score at the lane's slot i becomes scores[i / 2][q * 2 + i % 2].
  // `key(half, word)` gives two words of the key in slot lane / 4 + half * 8.
  template <typename Key>
  BANYAN_DEVICE void Multiply(const Thread& t, const Key& key,
                              std::array<float, 4> (&scores)[2]) const {
    // As many are asked for at once as registers hold.
    constexpr int kAtOnce = kSteps < 8 ? kSteps : 8;
    BANYAN_UNROLL for (int from = 0; from < kSteps; from += kAtOnce) {
      Pack<std::uint32_t, 2> parts[2][kAtOnce];
      BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
        // A lane's part of a key is one stretch of it: a sum is the same in any
        // order that the query shares.
        BANYAN_UNROLL for (int i = 0; i < kAtOnce; ++i) parts[half][i] =
            key(half, t.lane() % 4 * (kWidth / 8) + (from + i) * 2);
      }
      BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
        BANYAN_UNROLL for (int i = 0; i < kAtOnce; ++i) t.Multiply(
            words[from + i], {parts[half][i].at[0], parts[half][i].at[1]},
            scores[half]);
      }
    }
  }

  std::array<std::uint32_t, 4> words[kSteps];
};

// The largest score that a query has seen, and the sum of its weights, which
// are exp(score - largest).
struct Softmax {
  float largest = -INFINITY;
  float sum = 0;

  // Goes on along sixteen slots: a lane's four scores become weights. Returns
  // what earlier weights are to be multiplied by. Only slots that are `seen`
  // count.
  BANYAN_DEVICE float Add(const Thread& t, const bool (&seen)[4],
                          float (&own)[4]) {
    float most = -INFINITY;
    bool wrong = false;
    BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
      // Of -infinity Exp would make 0.
      wrong = wrong || (seen[i] && !IsFinite(own[i]));
      if (!seen[i]) own[i] = -INFINITY;
      most = fmaxf(most, own[i]);
    }
    most = fmaxf(most, t.ShuffleXor(most, 1));
    most = fmaxf(most, t.ShuffleXor(most, 2));
    most = fmaxf(most, largest);
    // Where nothing has been seen yet there is nothing to shrink.
    const float shrink = largest == most ? 1.0F : Exp(largest - most);
    float more = 0;
    BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
      own[i] = own[i] == -INFINITY ? 0.0F : Exp(own[i] - most);
      more += own[i];
    }
    if (wrong) more = nanf("");
    more += t.ShuffleXor(more, 1);
    more += t.ShuffleXor(more, 2);
    largest = most;
    sum = fmaf(sum, shrink, more);
    return shrink;
  }
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_SCORES_H_
