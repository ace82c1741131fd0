// Scores of the queries of one key head, and what a softmax makes of them, for
// the kernels of op_args.h.
//
// The order of sums: products are one fused multiply-add per number in order,
// from 0; a sum over slots runs over sixteen lanes, slot i in lane i % 16.
#if defined(BANYAN_CORE_OPS_CPU_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BANYAN_CORE_OPS_CPU_SCORES_INL_H_
#undef BANYAN_CORE_OPS_CPU_SCORES_INL_H_
#else
#define BANYAN_CORE_OPS_CPU_SCORES_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "core/ops/cpu/pieces.h"
#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tile-inl.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {

// Queries of a key head without gaps, `size` numbers each, and rows of scores.
struct Scores {
  float* queries;
  int rows;
  std::size_t size;
  float* scores;
  std::size_t stride;
};

// Reads the queries of `part`, `width` numbers a row.
inline void ReadQueries(const Tensor& queries, const HeadRows& part,
                        std::size_t width, float* to) {
  const std::size_t first = static_cast<std::size_t>(part.kv_head) * width;
  for (int i = 0; i < part.count; ++i)
    std::copy_n(host::Row(queries, part.first + i) + first, width,
                to + static_cast<std::size_t>(i) * width);
}

// Products with the keys of `slots` slots of a cache, from slot `first` on,
// where a panel begins, and with what follows in the last panel.
inline void MultiplyKeys(const KvCache& cache, int head, int first, int slots,
                         const Scores& s) {
  constexpr int kMany = 512;  // memory keeps up with fewer
  const host::KvView view(cache);
  RunTiles(FloatWeights{view.Key(head, first), kLane, s.size * kLane}, s.rows,
           PadToLane(slots) / kLane,
           {.x = s.queries,
            .x_stride = s.size,
            .count = s.size,
            .sums = s.scores,
            .sums_stride = s.stride,
            .resume = false,
            .one_stream = slots >= kMany});
}

// exp(x - shift), but NaN where x is not finite, which Exp loses: of -infinity,
// a product that overflowed, it makes 0.
HWY_INLINE Float Weigh(Float x, Float shift) {
  return Fma(x, hn::Zero(FloatTag()), Exp(hn::Sub(x, shift)));
}

// The same of `size` numbers in place.
HWY_INLINE void WeighRow(float* x, std::size_t size, Float shift) {
  const FloatTag d;
  std::size_t i = 0;
  for (; i + kWidth <= size; i += kWidth)
    hn::StoreU(Weigh(hn::LoadU(d, x + i), shift), d, x + i);
  if (i < size) StoreUpTo(Weigh(LoadUpTo(x, i, size), shift), x, i, size);
}

// The largest of `size` numbers, at least `most`; any number if one is NaN.
HWY_INLINE float Largest(const float* x, std::size_t size, float most) {
  const FloatTag d;
  Float lanes = hn::Set(d, most);
  std::size_t i = 0;
  for (; i + kWidth <= size; i += kWidth)
    lanes = hn::Max(lanes, hn::LoadU(d, x + i));
  alignas(64) float all[kWidth];
  hn::Store(lanes, d, all);
  most = *std::max_element(all, all + kWidth);
  for (; i < size; ++i) most = std::max(most, x[i]);
  return most;
}

// Adds `size` numbers, which zeros follow up to a whole sixteen, to the sums of
// sixteen lanes.
HWY_INLINE void SumLanes(const float* x, std::size_t size, float* lanes) {
  const FloatTag d;
  Float sums[kParts];
  for (std::size_t part = 0; part < kParts; ++part)
    sums[part] = hn::LoadU(d, lanes + part * kWidth);
  for (std::size_t i = 0; i < size; i += kLane)
    for (std::size_t part = 0; part < kParts; ++part)
      sums[part] = hn::Add(sums[part], hn::LoadU(d, x + i + part * kWidth));
  for (std::size_t part = 0; part < kParts; ++part)
    hn::StoreU(sums[part], d, lanes + part * kWidth);
}

}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BANYAN_CORE_OPS_CPU_SCORES_INL_H_
