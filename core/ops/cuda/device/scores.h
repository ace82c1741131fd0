// Scores of sixteen queries of one key head at 32 places, as products of
// fragments, and the softmax over them, for the kernels of attention and of its
// mass. All lanes of a warp call each function together.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_SCORES_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_SCORES_H_

#include <array>
#include <cmath>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/device/cuda/pack.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"

namespace banyan::BANYAN_MAKER {

constexpr int kQueriesOfAWarp = 16;
constexpr int kUnit = 32;  // places that a warp looks at together

// A lane has what belongs to two of the sixteen queries, `lane / 4` and 8 on,
// and to eight of the 32 places, i of 0 .. 7.
BANYAN_DEVICE int PlaceOfLane(const Thread& t, int i) {
  return i / 2 * 8 + t.lane() % 4 * 2 + i % 2;
}

// The two queries of a lane.
struct LaneQueries {
  // Query q of the two, from number `first` of a row on.
  BANYAN_DEVICE void Take(int q, int of_row, int from) {
    row[q] = of_row;
    first[q] = from;
  }

  // Numbers `at` to at + 7 of query q as bfloat16s, 0 from head_dim on.
  BANYAN_DEVICE Pack<std::uint32_t, 4> Words(const Matrix<const float>& rows,
                                             int q, int at,
                                             int head_dim) const {
    Pack<std::uint32_t, 4> words = {};
    if (row[q] < 0) return words;
    BANYAN_UNROLL for (int i = 0; i < 8; ++i) {
      if (at + i < head_dim)
        words.at[i / 2] |= ToBf16(rows.Read(row[q], first[q] + at + i))
                           << (i % 2 * 16);
    }
    return words;
  }

  int row[2] = {-1, -1};  // -1: there is no such query
  int first[2] = {};
};

// The scores of a lane: query q's at place i is At(q, i).
struct LaneScores {
  BANYAN_DEVICE float At(int q, int i) const {
    return sums[i / 2][q * 2 + i % 2];
  }

  // `key(j, word)` gives four words of the key at place lane / 4 + 8 j.
  template <typename Key>
  BANYAN_DEVICE void Find(const Thread& t, const Matrix<const float>& rows,
                          const LaneQueries& queries, int head_dim, int width,
                          const Key& key) {
    // A lane's part of a key is one stretch of it: a sum is the same in any
    // order that the query shares.
    const int part = t.lane() % 4 * (width / 4);
    // Two steps' keys are on their way together.
    BANYAN_UNROLL_TWO for (int at = part; at < part + width / 4; at += 8) {
      Pack<std::uint32_t, 4> keys[4];
      BANYAN_UNROLL for (int j = 0; j < 4; ++j) keys[j] = key(j, at / 2);
      const Pack<std::uint32_t, 4> low = queries.Words(rows, 0, at, head_dim);
      const Pack<std::uint32_t, 4> high = queries.Words(rows, 1, at, head_dim);
      BANYAN_UNROLL for (int step = 0; step < 4; step += 2) {
        BANYAN_UNROLL for (int j = 0; j < 4; ++j) t.Multiply(
            {low.at[step], high.at[step], low.at[step + 1], high.at[step + 1]},
            {keys[j].at[step], keys[j].at[step + 1]}, sums[j]);
      }
    }
  }

  std::array<float, 4> sums[4] = {};
};

// The largest score that a query has seen, and the sum of its weights, which
// are exp(score - largest).
struct Softmax {
  float largest = -INFINITY;
  float sum = 0;

  // True if nothing has been seen; NaN counts as seen.
  BANYAN_DEVICE bool empty() const { return largest == -INFINITY && sum == 0; }

  // Replaces a lane's eight scores by their weights, 0 where not `seen`.
  // Returns the query's softmax over the unit.
  BANYAN_DEVICE static Softmax Of(const Thread& t, const bool (&seen)[8],
                                  float (&own)[8]) {
    Softmax all;
    bool wrong = false;
    BANYAN_UNROLL for (int i = 0; i < 8; ++i) {
      // Of -infinity Exp would make 0.
      wrong = wrong || (seen[i] && !IsFinite(own[i]));
      if (!seen[i]) own[i] = -INFINITY;
      all.largest = fmaxf(all.largest, own[i]);
    }
    all.largest = fmaxf(all.largest, t.ShuffleXor(all.largest, 1));
    all.largest = fmaxf(all.largest, t.ShuffleXor(all.largest, 2));
    BANYAN_UNROLL for (int i = 0; i < 8; ++i) {
      own[i] = own[i] == -INFINITY ? 0.0F : Exp(own[i] - all.largest);
      all.sum += own[i];
    }
    if (wrong) all.sum = nanf("");
    all.sum += t.ShuffleXor(all.sum, 1);
    all.sum += t.ShuffleXor(all.sum, 2);
    return all;
  }

  struct Shares {
    float before;
    float part;
  };
  // Merges `more`, which comes after what was merged so far. Returns the
  // factors for the sums of both.
  BANYAN_DEVICE Shares Put(const Softmax& more) {
    Shares shares = {1, 1};
    if (more.empty()) return {1, 0};
    const float most = fmaxf(largest, more.largest);
    if (largest != most) shares.before = Exp(largest - most);
    if (more.largest != most) shares.part = Exp(more.largest - most);
    largest = most;
    sum = fmaf(more.sum, shares.part, sum * shares.before);
    return shares;
  }
};

// Two numbers at once: a query's largest score and sum.
template <typename Numbers>
BANYAN_DEVICE Softmax ReadSoftmax(const Numbers& from, std::int64_t at) {
  const Pack<float, 2> pair = from.template ReadPack<2>(at);
  return {pair.at[0], pair.at[1]};
}
template <typename Numbers>
BANYAN_DEVICE void WriteSoftmax(const Numbers& to, std::int64_t at,
                                const Softmax& softmax) {
  to.template WritePack<2>(at, {{softmax.largest, softmax.sum}});
}

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_SCORES_H_
