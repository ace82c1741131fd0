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
// end. A sum of zero is +0. With tile registers, the two products of caches
// that may be split have the order of attention_tiles-inl.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/base/check.h"
#include "core/ops/cpu/cpu_backend.h"
#include "core/ops/cpu/pieces.h"
#include "core/ops/cpu/tiles.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/cpu/attention.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which Highway wants.
#include "core/ops/cpu/attention_rows-inl.h"
#include "core/ops/cpu/attention_tiles-inl.h"
#include "core/ops/cpu/scores-inl.h"
#include "core/ops/cpu/simd-inl.h"
#include "core/ops/cpu/tile-inl.h"
#include "core/ops/cpu/tiles-inl.h"
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

// Computes the sums in lanes, in pieces of the prefix that fit a second-level
// cache with the scores of all rows.
void RunInLanes(const AttentionTask& task, const Scratch& s,
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

#if HWY_ARCH_X86_64
template <class Tiles>
void ScoreInTiles(const AttentionTask& task, const Scratch& s) {
  const AttentionArgs& args = *task.args;
  const int head = task.part.kv_head;
  const std::size_t stride = PadToPairs(s.size);
  const auto room = static_cast<std::size_t>(PadToLane(s.rows)) * stride;
  std::vector<std::uint16_t> parts(2 * room);
  const SplitRows queries = {parts.data(), parts.data() + room, stride};
  for (std::size_t row = 0; row < static_cast<std::size_t>(s.rows); ++row)
    SplitRow(s.queries + row * s.size, s.size, row, queries);
  Tiles tiles(PairConfig(s.rows));
  if (args.committed > 0)
    MultiplySplitKeys(tiles, *args.prefix, head, 0, args.committed, queries,
                      s.rows, s.scores, s.scores_stride);
  MultiplySplitKeys(tiles, *args.pending, head, args.pending_slot - s.before,
                    s.before + s.tokens, queries, s.rows,
                    s.scores + s.panels_at, s.scores_stride);
}

// p of `count` positions of a row from position `first` on, of which those from
// `committed` on are the pending tokens `seen`; all in order without.
void ReadPositions(const float* prefix, const float* pending,
                   std::size_t committed, std::size_t first, std::size_t count,
                   const std::vector<int>* seen, float* to) {
  const std::size_t end = first + count;
  const std::size_t between = std::clamp(committed, first, end);
  std::copy_n(prefix + first, between - first, to);
  for (std::size_t at = between; at < end; ++at) {
    const std::size_t number = at - committed;
    to[at - first] =
        pending[seen == nullptr ? number
                                : static_cast<std::size_t>((*seen)[number])];
  }
}

// Computes the sums of p times values in tiles, over positions: first the
// positions that all rows share, together, then each row's own.
template <class Tiles>
class TileMixer {
 public:
  TileMixer(const AttentionTask& task, const Scratch& s)
      : args_(*task.args),
        part_(task.part),
        s_(s),
        // An empty prefix may have no memory.
        prefix_(args_.committed > 0 ? *args_.prefix : *args_.pending),
        pending_(*args_.pending),
        committed_(static_cast<std::size_t>(args_.committed)),
        panels_(s.out_stride / kLane) {}

  void Run() {
    std::fill_n(s_.out,
                static_cast<std::size_t>(PadToLane(s_.rows)) * s_.out_stride,
                0.0F);
    if (IsChain()) {
      AddShared(committed_ + static_cast<std::size_t>(s_.tokens));
    } else {
      const std::size_t shared = committed_ / kPairColumns * kPairColumns;
      AddShared(shared);
      for (int i = 0; i < part_.count; ++i) AddOwn(i, shared);
    }
  }

 private:
  // Whether every row sees the pending tokens up to its own, all of them.
  bool IsChain() {
    for (int i = 0; i < part_.count; ++i) {
      ReadSeen(args_, part_.first + i, seen_);
      const int own = args_.first_pending + part_.first + i;
      if (static_cast<int>(seen_.size()) != own + 1 || seen_.back() != own)
        return false;
    }
    return true;
  }
  const float* ValueAt(std::size_t position) const {
    return position < committed_
               ? prefix_.Value(part_.kv_head, static_cast<int>(position))
               : PendingValue(static_cast<int>(position - committed_));
  }
  const float* PendingValue(int number) const {
    return pending_.Value(part_.kv_head, args_.pending_slot + number);
  }
  float* Scores(std::size_t row) const {
    return s_.scores + row * s_.scores_stride;
  }

  // Positions [0, end), the same for all rows.
  void AddShared(std::size_t end) {
    if (end == 0) return;
    constexpr std::size_t kMost = 512;
    const std::size_t chunk = std::min(kMost, PadToPairs(end));
    const auto rows = static_cast<std::size_t>(s_.rows);
    const std::size_t room =
        static_cast<std::size_t>(PadToLane(s_.rows)) * chunk;
    std::vector<std::uint16_t> parts(2 * room);
    const SplitRows p = {parts.data(), parts.data() + room, chunk};
    SplitWords values(chunk / kPairColumns * panels_);
    float numbers[kMost];
    Tiles tiles(PairConfig(s_.rows));
    for (std::size_t first = 0; first < end; first += chunk) {
      const std::size_t count = std::min(chunk, end - first);
      SplitValues([&](std::size_t i) { return ValueAt(first + i); }, count,
                  panels_, values);
      for (std::size_t row = 0; row < rows; ++row) {
        const float* const scores = Scores(row);
        ReadPositions(scores, scores + s_.pending_at, committed_, first, count,
                      nullptr, numbers);
        SplitRow(numbers, count, row, p);
      }
      for (std::size_t row = 0; row < rows; row += kRegisterRows)
        AddSplitValues(tiles, p.From(row), PadToPairs(count) / kPairColumns,
                       values, panels_, s_.out + row * s_.out_stride,
                       s_.out_stride);
    }
  }

  // Of the query rows of token `i` of the part the positions from `first` on.
  void AddOwn(int i, std::size_t first) {
    ReadSeen(args_, part_.first + i, seen_);
    const std::size_t count = committed_ + seen_.size() - first;
    const std::size_t stride = PadToPairs(count);
    const auto at = [&](std::size_t place) {
      const std::size_t position = first + place;
      return position < committed_ ? ValueAt(position)
                                   : PendingValue(seen_[position - committed_]);
    };
    SplitWords values(stride / kPairColumns * panels_);
    SplitValues(at, count, panels_, values);
    std::vector<std::uint16_t> parts(2 * kRegisterRows * stride);
    const SplitRows p = {parts.data(), parts.data() + kRegisterRows * stride,
                         stride};
    std::vector<float> numbers(count);
    std::vector<float> sums(kRegisterRows * s_.out_stride);
    Tiles tiles(PairConfig(s_.group));
    const auto group = static_cast<std::size_t>(s_.group);
    const std::size_t end = (static_cast<std::size_t>(i) + 1) * group;
    for (std::size_t row = end - group; row < end; row += kRegisterRows) {
      const std::size_t rows = std::min(kRegisterRows, end - row);
      for (std::size_t j = 0; j < rows; ++j) {
        const float* const scores = Scores(row + j);
        ReadPositions(scores, scores + s_.pending_at, committed_, first, count,
                      &seen_, numbers.data());
        SplitRow(numbers.data(), count, j, p);
      }
      float* const out = s_.out + row * s_.out_stride;
      std::copy_n(out, rows * s_.out_stride, sums.data());
      AddSplitValues(tiles, p, stride / kPairColumns, values, panels_,
                     sums.data(), s_.out_stride);
      std::copy_n(sums.data(), rows * s_.out_stride, out);
    }
  }

  const AttentionArgs& args_;
  const HeadRows& part_;
  const Scratch& s_;
  const host::KvView prefix_;
  const host::KvView pending_;
  const std::size_t committed_;
  const std::size_t panels_;  // of a head
  std::vector<int> seen_;
};

template <class Tiles>
void RunInTiles(const AttentionTask& task, const Scratch& s,
                RowWeights& weights) {
  const auto committed = static_cast<std::size_t>(task.args->committed);
  ScoreInTiles<Tiles>(task, s);
  weights.See(0, committed);
  weights.WeighPending();
  weights.Weigh(0, committed);
  TileMixer<Tiles>(task, s).Run();
}
#endif  // HWY_ARCH_X86_64

void Attend(const AttentionTask& task, TaskMemory& memory) {
  const FloatTag d;
  const AttentionArgs& args = *task.args;
  const Scratch s(task, memory);
  const std::size_t width = static_cast<std::size_t>(s.group) * s.size;
  const std::size_t first = static_cast<std::size_t>(task.part.kv_head) * width;
  ReadQueries(args.queries, task.part, width, s.queries);
  RowWeights weights(task, s);
#if HWY_ARCH_X86_64
  if (task.tiles == TileMaker::kAmx)
    RunInTiles<AmxTiles>(task, s, weights);
  else if (task.tiles == TileMaker::kEmulated)
    RunInTiles<MadeTiles>(task, s, weights);
  else
#endif
    RunInLanes(task, s, weights);
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
    const bool may_split = cache.may_split && args.prefix->may_split;
    const TileMaker tiles = may_split ? tiles_ : TileMaker::kNone;
    const int together =
        tiles == TileMaker::kNone ? kQueryRows : kRegisterQueryRows;
    for (const HeadRows& part :
         RowsByHead(rows, args.heads, cache.kv_heads, threads(), together))
      tasks.push_back({&args, part, tiles});
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
