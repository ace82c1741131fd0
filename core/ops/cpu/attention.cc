// Attention on the processor. One task is one key head with some rows; its
// query heads are rows too, so that they share each read of the keys. Products
// with keys and with values are tiles (tile-inl.h): a panel of the first is 16
// slots, of the second 16 numbers of a head.
//
// Tiles run over every slot up to the last row's: those of the prefix, then,
// from the panel of the first pending one on, those of the pending tokens. What
// a row does not see gets p = 0 and adds nothing (op_args.h).
//
// The order of sums: products are one fused multiply-add per number in order,
// from 0, seen slots in the order of their positions. The sum of the p runs
// over sixteen lanes, a position in lane position % 16, added in halves at the
// end. A sum of zero is +0.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/base/check.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/cpu/pieces.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/cpu/attention.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which Highway wants.
#include "core/ops/cpu/attention_rows-inl.h"
#include "core/ops/cpu/scores-inl.h"
#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {
namespace {

// Adds p times the values of `slots` slots of a cache, from slot `first` on.
void MultiplyValues(const KvCache& cache, int head, int first, int slots,
                    const Scratch& s, const float* p, bool resume,
                    bool follows) {
  const host::KvView view(cache);
  RunTiles(FloatWeights{view.Value(head, first), s.size, kLane}, s.rows,
           static_cast<int>(s.out_stride) / kLane,
           {p, s.scores_stride, static_cast<std::size_t>(slots), s.out,
            s.out_stride, resume, follows});
}

// Computes the sums of values, in pieces of the prefix that fit a second-level
// cache with the scores of all rows.
void FindSums(const AttentionTask& task, const Scratch& s,
              RowWeights& weights) {
  constexpr int kPiece = 512;
  const AttentionArgs& args = *task.args;
  const int head = task.part.kv_head;
  const auto for_pieces = [&](const auto& use) {
    for (int first = 0; first < args.committed; first += kPiece)
      use(first, std::min(kPiece, args.committed - first));
  };
  const auto scored = [&](std::size_t first) {
    return Scores{s.queries, s.rows, s.size, s.scores + first, s.scores_stride};
  };
  for_pieces([&](int first, int count) {
    MultiplyKeys(*args.prefix, head, first, count, scored(first));
    weights.See(first, first + count);
  });
  MultiplyKeys(*args.pending, head, args.pending_slot - s.before,
               s.before + s.tokens, scored(s.panels_at));
  weights.WeighPending();
  for_pieces([&](int first, int count) {
    weights.Weigh(first, first + count);
    MultiplyValues(*args.prefix, head, first, count, s, s.scores + first,
                   first > 0, first + count < args.committed);
  });
  MultiplyValues(*args.pending, head, args.pending_slot, s.tokens, s,
                 s.scores + s.pending_at, args.committed > 0, false);
}

void Attend(const AttentionTask& task, TaskMemory& memory) {
  const FloatTag d;
  const AttentionArgs& args = *task.args;
  const Scratch s(task, memory);
  const std::size_t width = static_cast<std::size_t>(s.group) * s.size;
  const std::size_t first = static_cast<std::size_t>(task.part.kv_head) * width;
  ReadQueries(args.queries, task.part, width, s.queries);
  RowWeights weights(task, s);
  FindSums(task, s, weights);
  for (std::size_t row = 0; row < static_cast<std::size_t>(s.rows); ++row) {
    const std::size_t head = row % static_cast<std::size_t>(s.group);
    const int query = task.part.first + static_cast<int>(row) / s.group;
    float* y = host::Row(args.y, query) + first + head * s.size;
    const Float total = hn::Set(d, weights.Total(row));
    for (std::size_t i = 0; i < s.size; i += kWidth) {
      // Slots not seen were added as zeros: plus 0, as in linear.cc.
      const Float sum =
          hn::Add(hn::LoadU(d, s.out + row * s.out_stride + i), hn::Zero(d));
      StoreUpTo(hn::Div(sum, total), y, i, s.size);
    }
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

absl::Status CpuBackend::Attention(absl::Span<const AttentionArgs> sequences) {
  std::vector<AttentionArgs> settled;
  for (const AttentionArgs& args : sequences)
    settled.push_back(host::Settled(args));
  std::vector<AttentionTask> tasks;
  double work = 0;
  for (const AttentionArgs& args : settled) {
    const KvCache& cache = *args.pending;
    const int rows = args.queries.rows;
    Check(args.pending_slot + args.first_pending + rows <= cache.capacity &&
              args.committed <= args.prefix->capacity,
          "attention past a cache's end");
    for (const HeadRows& part :
         RowsByHead(rows, args.heads, cache.kv_heads, threads()))
      tasks.push_back({&args, part});
    const double slots = args.committed + args.first_pending + rows;
    work += 2.0 * rows * slots * args.heads * cache.head_dim;
  }
  Split(static_cast<int>(tasks.size()), work, [&](int first, int end) {
    // Kept: the system maps freed memory of this size anew, page by page.
    thread_local TaskMemory memory;
    for (int i = first; i < end; ++i) HWY_DISPATCH_TABLE(Attend)
    [kernel_](tasks[static_cast<std::size_t>(i)], memory);
  });
  return absl::OkStatus();
}

}  // namespace banyan
#endif  // HWY_ONCE
