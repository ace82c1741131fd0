// The rows of one task of attention: their scores, and the weights p that a
// softmax makes of them.
#if defined(BANYAN_CORE_OPS_CPU_ATTENTION_ROWS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef BANYAN_CORE_OPS_CPU_ATTENTION_ROWS_INL_H_
#undef BANYAN_CORE_OPS_CPU_ATTENTION_ROWS_INL_H_
#else
#define BANYAN_CORE_OPS_CPU_ATTENTION_ROWS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/ops/cpu/pieces.h"
#include "core/ops/cpu/scores-inl.h"
#include "core/ops/cpu/simd-inl.h"
#include "core/ops/host/host.h"
#include "core/ops/op_args.h"
#include "hwy/highway.h"

#ifndef BANYAN_ATTENTION_ROWS_ONCE_
#define BANYAN_ATTENTION_ROWS_ONCE_
namespace banyan {

// Memory that a thread's tasks use one after the other.
class TaskMemory {
 public:
  float* Room(std::size_t size) {
    if (size > size_) {
      numbers_ = std::make_unique_for_overwrite<float[]>(size);
      size_ = size;
    }
    return numbers_.get();
  }

 private:
  std::unique_ptr<float[]> numbers_;
  std::size_t size_ = 0;
};

// The rows of one task and what they share.
struct AttentionTask {
  const AttentionArgs* args;
  HeadRows part;
};

}  // namespace banyan
#endif  // BANYAN_ATTENTION_ROWS_ONCE_

HWY_BEFORE_NAMESPACE();
namespace banyan::HWY_NAMESPACE {

// The pending tokens that row `row` sees, in their order.
inline void ReadSeen(const AttentionArgs& args, int row,
                     std::vector<int>& seen) {
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

// Where a task keeps what it computes, one row per query row and head.
struct Scratch {
  Scratch(const AttentionTask& task, TaskMemory& memory)
      : group(task.args->heads / task.args->pending->kv_heads),
        rows(task.part.count * group),
        tokens(task.args->first_pending + task.part.first + task.part.count),
        before(task.args->pending_slot % kLane),
        size(static_cast<std::size_t>(task.args->pending->head_dim)),
        panels_at(static_cast<std::size_t>(PadToLane(task.args->committed))),
        pending_at(panels_at + static_cast<std::size_t>(before)),
        scores_stride(OddLines(
            panels_at + static_cast<std::size_t>(PadToLane(before + tokens)))),
        out_stride(
            static_cast<std::size_t>(PadToLane(task.args->pending->head_dim))) {
    const auto all = static_cast<std::size_t>(rows);
    queries = memory.Room(all * (size + scores_stride + out_stride));
    scores = queries + all * size;
    out = scores + all * scores_stride;
  }

  // An odd number of cache lines, so that rows do not compete for a place in a
  // cache.
  static std::size_t OddLines(std::size_t size) {
    return size / kLane % 2 == 0 ? size + kLane : size;
  }

  int group;  // query heads to a key head
  int rows;
  int tokens;  // pending ones, up to the last row's own
  int before;  // slots before the first pending one in its panel
  std::size_t size;
  // A row of scores: the panels of the prefix, then those of the pending
  // tokens, whose first is at pending_at.
  std::size_t panels_at;
  std::size_t pending_at;
  std::size_t scores_stride;
  std::size_t out_stride;
  float* queries;
  float* scores;
  float* out;
};

// Turns the scores of a task's rows into p, 0 for slots a row does not see.
// Call See for the whole prefix first, in pieces of any size.
class RowWeights {
 public:
  RowWeights(const AttentionTask& task, const Scratch& s)
      : s_(s), committed_(static_cast<std::size_t>(task.args->committed)) {
    const auto most = static_cast<std::size_t>(task.args->window);
    std::vector<int> seen;
    for (int i = 0; i < task.part.count; ++i) {
      ReadSeen(*task.args, task.part.first + i, seen);
      // The first position inside the window is `begin`.
      const std::size_t end = committed_ + seen.size();
      const std::size_t begin = most == 0 || end <= most ? 0 : end - most;
      Row row = {.from = std::min(begin, committed_)};
      row.first_kept = kept_.size();
      row.position = std::max(begin, committed_);
      kept_.insert(kept_.end(),
                   seen.begin() + static_cast<std::ptrdiff_t>(begin - row.from),
                   seen.end());
      row.end_kept = kept_.size();
      rows_.insert(rows_.end(), static_cast<std::size_t>(s.group), row);
    }
  }

  // Raises each row's largest score to those of slots [first, end) of the
  // prefix.
  void See(std::size_t first, std::size_t end) {
    for (Row& row : rows_) {
      const std::size_t from = std::clamp(row.from, first, end);
      row.largest = Largest(ScoresOf(row) + from, end - from, row.largest);
    }
  }
  // Turns the scores of the pending tokens into p, after all of the prefix was
  // seen.
  void WeighPending() {
    std::vector<float> p;
    for (Row& row : rows_) {
      float* const pending = ScoresOf(row) + s_.pending_at;
      const std::size_t count = row.end_kept - row.first_kept;
      const int* const kept = kept_.data() + row.first_kept;
      // In a prompt the tokens that a row sees are contiguous.
      if (count > 0 &&
          kept[count - 1] - kept[0] + 1 == static_cast<int>(count)) {
        float* const run = pending + kept[0];
        row.largest = Largest(run, count, row.largest);
        WeighRow(run, count, hn::Set(FloatTag(), row.largest));
        std::fill(pending, run, 0.0F);
        std::fill(run + count, pending + s_.tokens, 0.0F);
        continue;
      }
      p.clear();
      for (std::size_t j = 0; j < count; ++j) p.push_back(pending[kept[j]]);
      row.largest = Largest(p.data(), count, row.largest);
      WeighRow(p.data(), count, hn::Set(FloatTag(), row.largest));
      std::fill_n(pending, s_.tokens, 0.0F);
      for (std::size_t j = 0; j < count; ++j) pending[kept[j]] = p[j];
    }
  }
  // Turns the scores of slots [first, end) of the prefix into p, followed by
  // zeros up to a whole sixteen. Pieces must come in order and start at a
  // multiple of sixteen.
  void Weigh(std::size_t first, std::size_t end) {
    for (Row& row : rows_) {
      float* const p = ScoresOf(row);
      const std::size_t from = std::clamp(row.from, first, end);
      std::fill(p + first, p + from, 0.0F);
      WeighRow(p + from, end - from, hn::Set(FloatTag(), row.largest));
      std::fill(p + end, p + PadToLane(static_cast<int>(end)), 0.0F);
      SumLanes(p + first, end - first, row.lanes);
    }
  }
  // Returns the sum of a row's p. Call it once a row, at the end.
  float Total(std::size_t number) {
    Row& row = rows_[number];
    const float* const pending = ScoresOf(row) + s_.pending_at;
    for (std::size_t j = row.first_kept; j < row.end_kept; ++j)
      row.lanes[(row.position + j - row.first_kept) % kLane] +=
          pending[kept_[j]];
    return AddLanes(row.lanes);
  }

 private:
  struct Row {
    std::size_t from;        // slots of the prefix before the window
    std::size_t position;    // of the first pending token that is seen
    std::size_t first_kept;  // the pending tokens that are seen, in kept_
    std::size_t end_kept;
    float largest = -std::numeric_limits<float>::infinity();
    alignas(64) float lanes[kLane] = {};  // sums of p
  };

  float* ScoresOf(const Row& row) const {
    return s_.scores +
           static_cast<std::size_t>(&row - rows_.data()) * s_.scores_stride;
  }

  const Scratch& s_;
  const std::size_t committed_;
  std::vector<Row> rows_;
  std::vector<int> kept_;
};

}  // namespace banyan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BANYAN_CORE_OPS_CPU_ATTENTION_ROWS_INL_H_
