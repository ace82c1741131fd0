// Attention on the processor. One task is one key head with some rows; its
// query heads are rows too, so that they share each read of the keys. Products
// with keys and with values are tiles (tile-inl.h): a panel of the first is 16
// slots, of the second 16 numbers of a head.
//
// Tiles run over every slot up to the last row's. What a row does not see gets
// p = 0 and adds nothing (attention.h).
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "core/base/check.h"
#include "core/ops/attention.h"
#include "core/ops/cpu_backend.h"
#include "core/ops/host.h"
#include "core/ops/kv_cache.h"
#include "core/ops/tensor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/attention_cpu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which Highway wants.
#include "core/ops/simd-inl.h"
#include "core/ops/tile-inl.h"
#include "hwy/highway.h"

#ifndef BANYAN_ATTENTION_CPU_ONCE_
#define BANYAN_ATTENTION_CPU_ONCE_
namespace banyan {
namespace {

// Query rows of one task: enough to share a read of the keys.
constexpr int kRowsPerTask = 24;

// The rows of one task and what they share.
struct AttentionTask {
  const AttentionArgs* args;
  int kv_head;
  int first_row;
  int rows;
};

}  // namespace
}  // namespace banyan
#endif  // BANYAN_ATTENTION_CPU_ONCE_

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {
namespace {

// Turns the scores of one row into p, and returns their sum. `seen` are the
// pending slots it sees, counted from the committed length.
float Soften(float* scores, int committed, int slots,
             const std::vector<int>& seen, int window) {
  const FloatTag d;
  const int depth = static_cast<int>(seen.size());
  // The first position inside the window, in the prefix and among the seen.
  const int begin = window == 0 ? 0 : std::max(0, committed + depth - window);
  const auto skip = static_cast<std::size_t>(std::max(0, begin - committed));
  const auto from = static_cast<std::size_t>(std::min(begin, committed));
  const auto prefix = static_cast<std::size_t>(committed);

  Float most = hn::Set(d, -std::numeric_limits<float>::infinity());
  std::fill(scores, scores + from, -std::numeric_limits<float>::infinity());
  std::size_t i = from / kLane * kLane;
  for (; i + kWidth <= prefix; i += kWidth)
    most = hn::Max(most, hn::LoadU(d, scores + i));
  alignas(64) float lanes[kLane];
  hn::Store(most, d, lanes);
  float largest = *std::max_element(lanes, lanes + kWidth);
  for (; i < prefix; ++i) largest = std::max(largest, scores[i]);
  for (std::size_t j = skip; j < seen.size(); ++j)
    largest = std::max(largest, scores[committed + seen[j]]);

  // p of the prefix, summed by lane; what follows it counts for nothing yet.
  const Float shift = hn::Set(d, largest);
  std::vector<float> kept(seen.size() - skip);
  for (std::size_t j = skip; j < seen.size(); ++j)
    kept[j - skip] = scores[committed + seen[j]];
  std::fill(scores + prefix, scores + PadToLane(slots),
            -std::numeric_limits<float>::infinity());
  Float sums[kParts];
  for (Float& sum : sums) sum = hn::Zero(d);
  std::fill(scores, scores + from / kLane * kLane, 0.0F);
  for (std::size_t at = from / kLane * kLane;
       at < static_cast<std::size_t>(PadToLane(committed)); at += kLane) {
    for (std::size_t part = 0; part < kParts; ++part) {
      float* p = scores + at + part * kWidth;
      const Float value = Exp(hn::Sub(hn::LoadU(d, p), shift));
      hn::StoreU(value, d, p);
      sums[part] = hn::Add(sums[part], value);
    }
  }
  std::fill(scores + PadToLane(committed), scores + PadToLane(slots), 0.0F);
  for (std::size_t part = 0; part < kParts; ++part)
    hn::Store(sums[part], d, lanes + part * kWidth);

  // Then the pending ones it sees, by position.
  for (std::size_t j = 0; j < kept.size(); j += kWidth) {
    const Float value =
        Exp(hn::Sub(LoadUpTo(kept.data(), j, kept.size()), shift));
    StoreUpTo(value, kept.data(), j, kept.size());
  }
  for (std::size_t j = 0; j < kept.size(); ++j) {
    scores[committed + seen[skip + j]] = kept[j];
    lanes[(prefix + skip + j) % kLane] += kept[j];
  }
  return AddLanes(lanes);
}

// The pending slots that row `row` sees, in their order.
void ReadSeen(const AttentionArgs& args, int row, std::vector<int>& seen) {
  seen.clear();
  const auto words = static_cast<std::size_t>(args.visible_words);
  const std::int32_t* bits =
      host::Data(args.visible) + static_cast<std::size_t>(row) * words;
  for (std::size_t word = 0; word < words; ++word) {
    auto rest = static_cast<std::uint32_t>(bits[word]);
    for (; rest != 0; rest &= rest - 1)
      seen.push_back(static_cast<int>(word * 32) + std::countr_zero(rest));
  }
}

void Attend(const AttentionTask& task, std::vector<float>& scratch) {
  const FloatTag d;
  const AttentionArgs& args = *task.args;
  const host::KvView cache(*args.cache);
  const int group = args.heads / args.cache->kv_heads;
  const int rows = task.rows * group;
  const int slots =
      args.committed + args.first_pending + task.first_row + task.rows;
  const auto size = static_cast<std::size_t>(args.cache->head_dim);
  const auto scores_stride = static_cast<std::size_t>(PadToLane(slots));
  const std::size_t out_stride =
      static_cast<std::size_t>(PadToLane(args.cache->head_dim));
  const auto all = static_cast<std::size_t>(rows);
  scratch.resize(all * (size + scores_stride + out_stride));
  float* const queries = scratch.data();
  float* const scores = queries + all * size;
  float* const out = scores + all * scores_stride;

  const auto first_head = static_cast<std::size_t>(task.kv_head * group) * size;
  const std::size_t width = static_cast<std::size_t>(group) * size;
  for (int i = 0; i < task.rows; ++i)
    std::copy_n(host::Row(args.queries, task.first_row + i) + first_head, width,
                queries + static_cast<std::size_t>(i) * width);

  RunTiles(FloatWeights{cache.KeyHead(task.kv_head), kLane, size * kLane}, rows,
           PadToLane(slots) / kLane,
           {queries, size, size, scores, scores_stride, false});
  std::vector<int> seen;
  std::vector<float> totals(all);
  for (int i = 0; i < task.rows; ++i) {
    ReadSeen(args, task.first_row + i, seen);
    for (int head = 0; head < group; ++head) {
      const auto row = static_cast<std::size_t>(i * group + head);
      totals[row] = Soften(scores + row * scores_stride, args.committed, slots,
                           seen, args.window);
    }
  }
  RunTiles(FloatWeights{cache.ValueHead(task.kv_head), size, kLane}, rows,
           static_cast<int>(out_stride) / kLane,
           {scores, scores_stride, static_cast<std::size_t>(slots), out,
            out_stride, false});
  for (std::size_t row = 0; row < all; ++row) {
    float* y =
        host::Row(args.y, task.first_row + static_cast<int>(row) / group) +
        first_head + row % static_cast<std::size_t>(group) * size;
    const Float total = hn::Set(d, totals[row]);
    for (std::size_t i = 0; i < size; i += kWidth)
      StoreUpTo(hn::Div(hn::LoadU(d, out + row * out_stride + i), total), y, i,
                size);
  }
}

}  // namespace
}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace banyan {
namespace {

HWY_EXPORT(Attend);

}  // namespace

absl::Status CpuBackend::Attention(const AttentionArgs& args) {
  const KvCache& cache = *args.cache;
  const int group = args.heads / cache.kv_heads;
  const int rows = args.queries.rows;
  Check(args.committed + args.first_pending + rows <= cache.capacity,
        "attention past the cache's end");
  const int per_task = std::max(1, kRowsPerTask / group);
  const int blocks = (rows + per_task - 1) / per_task;
  const double slots = args.committed + args.first_pending + rows;
  const double work = 2.0 * rows * slots * args.heads * cache.head_dim;
  // Heads vary slowest: a thread stays with the heads it has in its cache.
  Split(cache.kv_heads * blocks, work, [&](int first, int end) {
    std::vector<float> scratch;
    for (int i = first; i < end; ++i) {
      const int row = i % blocks * per_task;
      HWY_DISPATCH_TABLE(Attend)
      [kernel_]({&args, i / blocks, row, std::min(per_task, rows - row)},
                scratch);
    }
  });
  return absl::OkStatus();
}

}  // namespace banyan
#endif  // HWY_ONCE
