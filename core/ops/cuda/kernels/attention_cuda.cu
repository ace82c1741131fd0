// Attention over a tree, as two products of fragments with a softmax that runs
// along the positions between them.
//
// A warp has up to 16 queries of one key head (rows, and the heads that share
// keys) and a stretch of kStretch positions. It goes along them 16 at a time:
// scores of queries and keys, the largest so far, weights as bfloat16s, their
// sum with the values. Positions, not slots, say what is added to what: at 16
// committed positions all queries of the warp look at the same keys; where some
// are pending, every row has its own path, whose keys are gathered into the
// places of their positions, and the warp does the same once for each of its
// rows, whose other queries do not see it. A weight of 0 changes no bit. So
// what a row gets is the same whether its ancestors are committed or pending,
// and whatever stands beside it.
//
// A second launch adds up the stretches of each query, in order.
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/attended.h"
#include "core/ops/cuda/device/kv_layout.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/device/scores.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kWarps = 4;
constexpr int kQueries = kQueriesOfAWarp;

// The rows of one sequence.
template <int kWidth>
struct Attending {
  static constexpr int kOutputs = kWidth / 8;  // fragments of a sum of values
  Attending() = default;
  Attending(CudaDevice& device, const AttentionArgs& args, DeviceSpan scratch)
      : of(args),
        queries(device, args.queries),
        prefix(device, *args.prefix),
        pending(device, *args.pending),
        first_committed(args.committed),
        first_pending_slot(args.pending_slot),
        live(device, LiveOf(args.length)),
        window(args.window),
        ancestors(device, args),
        partials(device, scratch) {}

  int blocks() const {
    const int items = prefix.kv_heads * of.tiles * of.stretches;
    return (items + kWarps - 1) / kWarps;
  }

  Stretches of;
  Matrix<const float> queries;
  KvCacheOf<const std::uint32_t> prefix;
  KvCacheOf<const std::uint32_t> pending;
  int first_committed = 0;
  int first_pending_slot = 0;
  Global<const std::int32_t> live;  // to be added to both
  int window = 0;
  Ancestors ancestors;
  Global<float> partials;

  // Of a lane: of the warp's queries it has numbers of two, `lane / 4` and 8
  // on.
  struct State {
    int committed;
    int pending_slot;
    LaneQueries<kWidth> queries;
    int row[2];     // -1: there is no such query
    int length[2];  // positions that it sees
    Softmax softmax[2];
    std::array<float, 4> values[kOutputs];
  };

  // Where the key and value of a position stand, for a row's path; kShared: it
  // is committed.
  struct Slot {
    bool there = false;
    bool is_pending = false;
    std::int64_t word = 0;
  };
  template <bool kShared>
  BANYAN_DEVICE Slot At(const State& state, int kv_head, int position, int row,
                        int length) const {
    if (kShared || position < state.committed)
      return {true, false, prefix.Row(kv_head, position) / 2};
    if (row < 0 || position >= length) return {};
    const int place = ancestors.Place(row, position - state.committed);
    return {true, true, pending.Row(kv_head, state.pending_slot + place) / 2};
  }
  BANYAN_DEVICE static Pack<std::uint32_t, 2> Words(
      const Slot& slot, const Global<const std::uint32_t>& committed_words,
      const Global<const std::uint32_t>& pending_words, int word) {
    if (!slot.there) return {{0, 0}};
    return slot.is_pending
               ? pending_words.template ReadPack<2>(slot.word + word)
               : committed_words.template ReadPack<2>(slot.word + word);
  }

  // Sixteen positions from `first` on, of which every query sees those below
  // its length and in its window; with `only` >= 0 none but that row's queries
  // do. kShared: all are committed.
  template <bool kShared>
  BANYAN_DEVICE void Look(const Thread& t, int kv_head, int first, int only,
                          State& state) const {
    const int group = t.lane() / 4;
    int length = 0;
    if (only >= 0) length = state.committed + ancestors.Count(only);
    const Slot keys[2] = {
        At<kShared>(state, kv_head, first + group, only, length),
        At<kShared>(state, kv_head, first + 8 + group, only, length)};
    std::array<float, 4> scores[2] = {};
    state.queries.Multiply(
        t,
        [&](int half, int word) {
          return Words(keys[half], prefix.keys, pending.keys, word);
        },
        scores);
    std::array<std::uint32_t, 4> weights;
    float shrink[2];
    BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
      float own[4];
      bool seen[4];
      BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
        const int position = first + SlotOfLane(t, i);
        seen[i] = state.row[q] >= 0 && (only < 0 || state.row[q] == only) &&
                  position < state.length[q] &&
                  (window == 0 || position >= state.length[q] - window);
        own[i] = scores[i / 2][q * 2 + i % 2];
      }
      shrink[q] = state.softmax[q].Add(t, seen, own);
      weights[q] = ToBf16(own[0]) | ToBf16(own[1]) << 16;
      weights[q + 2] = ToBf16(own[2]) | ToBf16(own[3]) << 16;
    }
    // A lane's part of the values: of four positions, one stretch of each.
    Slot slots[4];
    BANYAN_UNROLL for (int i = 0; i < 4; ++i) slots[i] =
        At<kShared>(state, kv_head, first + SlotOfLane(t, i), only, length);
    BANYAN_UNROLL for (int o = 0; o < kOutputs; ++o) {
      BANYAN_UNROLL for (int i = 0; i < 4; ++i) state.values[o][i] *=
          shrink[i / 2];
    }
    BANYAN_UNROLL for (int o = 0; o < kOutputs; o += 4) {
      Pack<std::uint32_t, 2> at[4];
      BANYAN_UNROLL for (int i = 0; i < 4; ++i) at[i] =
          Words(slots[i], prefix.values, pending.values,
                group * (kWidth / 16) + o / 2);
      BANYAN_UNROLL for (int k = 0; k < 4; ++k) {
        const int shift = 16 * (k % 2);
        const auto both = [&](int i) {
          return (at[i].at[k / 2] >> shift & 0xffffU) |
                 (at[i + 1].at[k / 2] >> shift & 0xffffU) << 16;
        };
        t.Multiply(weights, {both(0), both(2)}, state.values[o + k]);
      }
    }
  }

  // Block number `block` of the sequence's.
  BANYAN_DEVICE void Run(const Thread& t, int block) const {
    // A warp an item: the tiles that look at one stretch stand together, so
    // that a block's warps read the same keys and values.
    const std::int64_t item = std::int64_t{block} * kWarps + t.warp();
    const auto tile = static_cast<int>(item % of.tiles);
    const auto stretch = static_cast<int>(item / of.tiles % of.stretches);
    const auto kv_head = static_cast<int>(item / of.tiles / of.stretches);
    if (kv_head >= prefix.kv_heads) return;
    const int group = t.lane() / 4;
    const int place = t.lane() % 4;
    const int length_now = LiveNumber(live);
    const int committed = first_committed + length_now;
    if (stretch * kStretch >= committed + of.pending) return;
    State state = {};
    state.committed = committed;
    state.pending_slot = first_pending_slot + length_now;
    BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
      const int query = tile * kQueries + group + q * 8;
      const int row = query / of.group;
      state.row[q] = row < of.rows ? row : -1;
      if (state.row[q] < 0) continue;
      state.length[q] = committed + ancestors.Count(row);
      const int first =
          (kv_head * of.group + query % of.group) * prefix.head_dim;
      state.queries.Read(t, queries, row, first, prefix.head_dim, q);
    }
    const int begin = stretch * kStretch;
    const int end = begin + kStretch;
    const int shared = committed / 16 * 16 < end ? committed / 16 * 16 : end;
    for (int first = begin; first < shared; first += 16)
      Look<true>(t, kv_head, first, -1, state);
    const int first_row = tile * kQueries / of.group;
    const int last_query = tile * kQueries + kQueries - 1;
    const int last_row =
        last_query / of.group < of.rows ? last_query / of.group : of.rows - 1;
    for (int row = first_row; row <= last_row; ++row) {
      const int length = committed + ancestors.Count(row);
      for (int first = shared < begin ? begin : shared;
           first < length && first < end; first += 16)
        Look<false>(t, kv_head, first, row, state);
    }
    BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
      if (state.row[q] < 0) continue;
      const std::int64_t at = of.Partial(kv_head, tile, stretch, group + q * 8);
      BANYAN_UNROLL for (int o = 0; o < kOutputs; ++o) {
        partials.Write(at + place * 2 * kOutputs + o, state.values[o][q * 2]);
        partials.Write(at + (place * 2 + 1) * kOutputs + o,
                       state.values[o][q * 2 + 1]);
      }
      if (place == 0) {
        partials.Write(at + kWidth, state.softmax[q].largest);
        partials.Write(at + kWidth + 1, state.softmax[q].sum);
      }
    }
  }
};

template <int kWidth>
struct AttentionKernel {
  static constexpr const char* kName = "attention";
  static constexpr bool kAwaits = true;
  static constexpr int kMostThreads = kWarps * 32;
  Attending<kWidth> sequences[kMostSequences];
  int first_block[kMostSequences];
  int count;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    int own = count - 1;
    while (t.block() < first_block[own]) --own;
    sequences[own].Run(t, t.block() - first_block[own]);
  }
};

// A thread a number, rows of a sequence after those of the one before.
struct AddStretchesKernel {
  static constexpr const char* kName = "add_stretches";
  static constexpr bool kAwaits = true;
  struct Sequence {
    Attended attended;
    Matrix<float> y;
    int first_row = 0;
  };
  Sequence sequences[kMostSequences];
  int count;
  int columns;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const Place at = PlaceOf(t, columns);
    int own = count - 1;
    while (at.row < sequences[own].first_row) --own;
    const Sequence& sequence = sequences[own];
    const int row = at.row - sequence.first_row;
    if (row < sequence.y.rows)
      sequence.y.Write(row, at.column, sequence.attended.Value(row, at.column));
  }
};

// Each sequence's part of the scratch.
std::size_t ScratchOf(const AttentionArgs& args) {
  return (Stretches(args).Partials() * sizeof(float) + 255) / 256 * 256;
}

template <int kWidth>
void LaunchWidth(CudaDevice& device, absl::Span<const AttentionArgs> all,
                 DeviceSpan scratch) {
  AttentionKernel<kWidth> kernel = {};
  int blocks = 0;
  std::size_t used = 0;
  for (const AttentionArgs& args : all) {
    Attending<kWidth> sequence(device, args,
                               scratch.Part(used, ScratchOf(args)));
    kernel.first_block[kernel.count] = blocks;
    blocks += sequence.blocks();
    used += ScratchOf(args);
    kernel.sequences[kernel.count++] = sequence;
  }
  if (blocks > 0)
    Launch(device, {.blocks = blocks, .threads = kWarps * 32}, kernel);
}

}  // namespace

std::size_t AttentionScratch(absl::Span<const AttentionArgs> all) {
  std::size_t bytes = 0;
  for (const AttentionArgs& args : all) bytes += ScratchOf(args);
  return bytes;
}

void LaunchAttention(CudaDevice& device, absl::Span<const AttentionArgs> all,
                     DeviceSpan scratch) {
  AtKvWidth(all.front().prefix->head_dim,
            [&]<int kWidth>() { LaunchWidth<kWidth>(device, all, scratch); });
  AddStretchesKernel kernel = {};
  kernel.columns = all.front().y.columns;
  int rows = 0;
  std::size_t used = 0;
  for (const AttentionArgs& args : all) {
    kernel.sequences[kernel.count++] = {
        {device, args, scratch.Part(used, ScratchOf(args))},
        {device, args.y},
        rows};
    rows += args.y.rows;
    used += ScratchOf(args);
  }
  if (rows == 0) return;  // whoever reads them adds them up
  Launch(device, ForEach(std::int64_t{rows} * kernel.columns), kernel);
}

}  // namespace banyan::BANYAN_MAKER
