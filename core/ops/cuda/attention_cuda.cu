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
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/kv_layout.h"
#include "core/ops/cuda/launches.h"
#include "core/ops/cuda/matrix.h"
#include "core/ops/cuda/numbers.h"
#include "core/ops/cuda/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kStretch = 256;
constexpr int kWarps = 4;
constexpr int kQueries = 16;  // of a warp

// Pending rows that a row sees, by depth: their number, then their places.
struct PathsKernel {
  static constexpr const char* kName = "paths";
  Global<const std::int32_t> visible;
  int words;
  int rows;
  Global<std::int32_t> paths;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int row = t.block() * t.threads() + t.index();
    if (row >= rows) return;
    const std::int64_t first = std::int64_t{row} * (1 + 32 * words);
    int count = 0;
    for (int word = 0; word < words; ++word) {
      const auto bits = static_cast<std::uint32_t>(
          visible.Read(std::int64_t{row} * words + word));
      for (int bit = 0; bit < 32; ++bit)
        if ((bits >> bit & 1) != 0)
          paths.Write(first + 1 + count++, word * 32 + bit);
    }
    paths.Write(first, count);
  }
};

// What both launches share.
struct Stretches {
  int rows;
  int heads;
  int group;      // heads that share keys
  int tiles;      // of queries, of one key head
  int stretches;  // of the longest row
  int pending;    // that a row sees at most
  int width;      // of a key

  BANYAN_DEVICE std::int64_t Partial(int kv_head, int tile, int stretch,
                                     int query) const {
    return (((std::int64_t{kv_head} * tiles + tile) * stretches + stretch) *
                kQueries +
            query) *
           (width + 4);
  }
};

template <int kWidth>
struct AttentionKernel {
  static constexpr const char* kName = "attention";
  static constexpr int kSteps = kWidth / 16;   // of a score's sum
  static constexpr int kOutputs = kWidth / 8;  // fragments of a sum of values
  Stretches of;
  Matrix<const float> queries;
  KvCacheOf<const std::uint32_t> prefix;
  KvCacheOf<const std::uint32_t> pending;
  int first_committed;
  int first_pending_slot;
  Global<const std::int32_t> live;  // to be added to both
  int window;
  int path_size;
  Global<const std::int32_t> paths;
  Global<float> partials;

  // Of a lane: of the warp's queries it has numbers of two, `lane / 4` and 8
  // on.
  struct State {
    int committed;
    int pending_slot;
    std::array<std::uint32_t, 4> query[kSteps];
    int row[2];     // -1: there is no such query
    int length[2];  // positions that it sees
    float largest[2];
    float sum[2];
    std::array<float, 4> values[kOutputs];
  };

  // Where the key and value of a position stand, for a row's path.
  struct Slot {
    bool there = false;
    bool is_pending = false;
    std::int64_t word = 0;
  };
  BANYAN_DEVICE Slot At(const State& state, int kv_head, int position, int row,
                        int length) const {
    if (position < state.committed)
      return {true, false, prefix.Row(kv_head, position) / 2};
    if (row < 0 || position >= length) return {};
    const int place = paths.Read(std::int64_t{row} * path_size + 1 + position -
                                 state.committed);
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
  // do.
  BANYAN_DEVICE void Look(const Thread& t, int kv_head, int first, int only,
                          State& state) const {
    const int group = t.lane() / 4;
    const int place = t.lane() % 4;
    int length = 0;
    if (only >= 0)
      length = state.committed + paths.Read(std::int64_t{only} * path_size);
    std::array<float, 4> scores[2] = {};
    BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
      const Slot slot =
          At(state, kv_head, first + half * 8 + group, only, length);
      BANYAN_UNROLL for (int step = 0; step < kSteps; ++step) {
        // A lane's part of a key is one stretch of it: a sum is the same in any
        // order that the query shares.
        const Pack<std::uint32_t, 2> b = Words(slot, prefix.keys, pending.keys,
                                               place * (kWidth / 8) + step * 2);
        t.Multiply(state.query[step], {b.at[0], b.at[1]}, scores[half]);
      }
    }
    std::array<std::uint32_t, 4> weights;
    float shrink[2];
    BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
      float own[4];
      float largest = -INFINITY;
      bool wrong = false;
      BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
        const int position = first + i / 2 * 8 + place * 2 + i % 2;
        const bool seen = state.row[q] >= 0 &&
                          (only < 0 || state.row[q] == only) &&
                          position < state.length[q] &&
                          (window == 0 || position >= state.length[q] - window);
        const float score = scores[i / 2][q * 2 + i % 2];
        // Of -infinity Exp would make 0.
        wrong = wrong || (seen && !IsFinite(score));
        own[i] = seen ? score : -INFINITY;
        largest = fmaxf(largest, own[i]);
      }
      largest = fmaxf(largest, t.ShuffleXor(largest, 1));
      largest = fmaxf(largest, t.ShuffleXor(largest, 2));
      largest = fmaxf(largest, state.largest[q]);
      // Where nothing has been seen yet there is nothing to shrink.
      shrink[q] =
          state.largest[q] == largest ? 1.0F : Exp(state.largest[q] - largest);
      float sum = 0;
      BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
        own[i] = own[i] == -INFINITY ? 0.0F : Exp(own[i] - largest);
        sum += own[i];
      }
      if (wrong) sum = nanf("");
      sum += t.ShuffleXor(sum, 1);
      sum += t.ShuffleXor(sum, 2);
      state.largest[q] = largest;
      state.sum[q] = fmaf(state.sum[q], shrink[q], sum);
      weights[q] = ToBf16(own[0]) | ToBf16(own[1]) << 16;
      weights[q + 2] = ToBf16(own[2]) | ToBf16(own[3]) << 16;
    }
    // A lane's part of the values: of four positions, one stretch of each.
    Slot slots[4];
    BANYAN_UNROLL for (int i = 0; i < 4; ++i) slots[i] =
        At(state, kv_head, first + i / 2 * 8 + place * 2 + i % 2, only, length);
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

  BANYAN_DEVICE void operator()(const Thread& t) const {
    // A warp an item: stretches of one tile follow each other.
    const std::int64_t item = std::int64_t{t.block()} * kWarps + t.warp();
    const auto stretch = static_cast<int>(item % of.stretches);
    const auto tile = static_cast<int>(item / of.stretches % of.tiles);
    const auto kv_head = static_cast<int>(item / of.stretches / of.tiles);
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
      state.largest[q] = -INFINITY;
      if (state.row[q] < 0) continue;
      state.length[q] = committed + paths.Read(std::int64_t{row} * path_size);
      const int first =
          (kv_head * of.group + query % of.group) * prefix.head_dim;
      BANYAN_UNROLL for (int step = 0; step < kSteps; ++step) {
        BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
          const int at = place * (kWidth / 4) + step * 4 + half * 2;
          const auto number = [&](int i) {
            return i < prefix.head_dim ? ToBf16(queries.Read(row, first + i))
                                       : 0U;
          };
          state.query[step][q + half * 2] = number(at) | number(at + 1) << 16;
        }
      }
    }
    const int begin = stretch * kStretch;
    const int end = begin + kStretch;
    const int shared = committed / 16 * 16 < end ? committed / 16 * 16 : end;
    for (int first = begin; first < shared; first += 16)
      Look(t, kv_head, first, -1, state);
    const int first_row = tile * kQueries / of.group;
    const int last_query = tile * kQueries + kQueries - 1;
    const int last_row =
        last_query / of.group < of.rows ? last_query / of.group : of.rows - 1;
    for (int row = first_row; row <= last_row; ++row) {
      const int length = committed + paths.Read(std::int64_t{row} * path_size);
      for (int first = shared < begin ? begin : shared;
           first < length && first < end; first += 16)
        Look(t, kv_head, first, row, state);
    }
    BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
      const std::int64_t at = of.Partial(kv_head, tile, stretch, group + q * 8);
      BANYAN_UNROLL for (int o = 0; o < kOutputs; ++o) {
        partials.Write(at + place * 2 * kOutputs + o, state.values[o][q * 2]);
        partials.Write(at + (place * 2 + 1) * kOutputs + o,
                       state.values[o][q * 2 + 1]);
      }
      if (place == 0) {
        partials.Write(at + kWidth, state.largest[q]);
        partials.Write(at + kWidth + 1, state.sum[q]);
      }
    }
  }
};

// A warp a query.
struct AddStretchesKernel {
  static constexpr const char* kName = "add_stretches";
  Stretches of;
  int head_dim;
  int committed;
  Global<const std::int32_t> live;
  int path_size;
  Global<const std::int32_t> paths;
  Global<const float> partials;
  Matrix<float> y;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int item = t.block() * kWarps + t.warp();
    if (item >= of.rows * of.heads) return;
    const int row = item / of.heads;
    const int head = item % of.heads;
    const int query = row * of.group + head % of.group;
    const auto at = [&](int stretch) {
      return of.Partial(head / of.group, query / kQueries, stretch,
                        query % kQueries);
    };
    const int length = committed + LiveNumber(live) +
                       paths.Read(std::int64_t{row} * path_size);
    const int stretches = (length + kStretch - 1) / kStretch;
    float largest = -INFINITY;
    for (int stretch = 0; stretch < stretches; ++stretch)
      largest = fmaxf(largest, partials.Read(at(stretch) + of.width));
    for (int i = t.lane(); i < head_dim; i += 32) {
      float sum = 0;
      float value = 0;
      for (int stretch = 0; stretch < stretches; ++stretch) {
        const std::int64_t first = at(stretch);
        const float own = partials.Read(first + of.width);
        const float part = partials.Read(first + of.width + 1);
        // One that sees nothing of the stretch; NaN is seen.
        if (own == -INFINITY && part == 0) continue;
        const float weight = own == largest ? 1.0F : Exp(own - largest);
        sum = fmaf(part, weight, sum);
        value = fmaf(partials.Read(first + i), weight, value);
      }
      y.Write(row, head * head_dim + i, value / sum);
    }
  }
};

int PathSize(const AttentionLaunch& launch) {
  return 1 + 32 * launch.visible_words;
}

std::size_t PathBytes(const AttentionLaunch& launch) {
  return (static_cast<std::size_t>(launch.queries.rows) *
              static_cast<std::size_t>(PathSize(launch)) * 4 +
          255) /
         256 * 256;
}

Stretches StretchesOf(const AttentionLaunch& launch) {
  const int group = launch.heads / launch.prefix.kv_heads;
  // As if the last row saw every pending one.
  const int pending = launch.first_pending + launch.queries.rows;
  const int longest = launch.committed + launch.longest + pending;
  return {.rows = launch.queries.rows,
          .heads = launch.heads,
          .group = group,
          .tiles = (launch.queries.rows * group + kQueries - 1) / kQueries,
          .stretches = (longest + kStretch - 1) / kStretch,
          .pending = pending,
          .width = KvWidth(launch.prefix.head_dim)};
}

std::size_t PartialBytes(const AttentionLaunch& launch) {
  const Stretches of = StretchesOf(launch);
  return static_cast<std::size_t>(launch.prefix.kv_heads) *
         static_cast<std::size_t>(of.tiles) *
         static_cast<std::size_t>(of.stretches) * kQueries *
         static_cast<std::size_t>(of.width + 4) * sizeof(float);
}

template <int kWidth>
void LaunchWidth(CudaDevice& device, const AttentionLaunch& launch,
                 DeviceSpan paths, DeviceSpan partials) {
  const Stretches of = StretchesOf(launch);
  const int items = launch.prefix.kv_heads * of.tiles * of.stretches;
  Launch(device,
         {.blocks = (items + kWarps - 1) / kWarps, .threads = kWarps * 32},
         AttentionKernel<kWidth>{of,
                                 {device, launch.queries},
                                 {device, launch.prefix},
                                 {device, launch.pending},
                                 launch.committed,
                                 launch.pending_slot,
                                 {device, launch.length},
                                 launch.window,
                                 PathSize(launch),
                                 {device, paths},
                                 {device, partials}});
}

}  // namespace

std::size_t AttentionScratch(const AttentionLaunch& launch) {
  return PathBytes(launch) + PartialBytes(launch);
}

void LaunchAttention(CudaDevice& device, const AttentionLaunch& launch) {
  if (launch.queries.rows == 0) return;
  const Stretches of = StretchesOf(launch);
  const DeviceSpan paths = launch.scratch.Part(0, PathBytes(launch));
  const DeviceSpan partials =
      launch.scratch.Part(PathBytes(launch), PartialBytes(launch));
  Launch(device, {.blocks = (of.rows + 127) / 128, .threads = 128},
         PathsKernel{{device, launch.visible},
                     launch.visible_words,
                     of.rows,
                     {device, paths}});
  switch (of.width) {
    case 32:
      LaunchWidth<32>(device, launch, paths, partials);
      break;
    case 64:
      LaunchWidth<64>(device, launch, paths, partials);
      break;
    case 96:
      LaunchWidth<96>(device, launch, paths, partials);
      break;
    case 128:
      LaunchWidth<128>(device, launch, paths, partials);
      break;
    default:
      LaunchWidth<256>(device, launch, paths, partials);
      break;
  }
  const int items = of.rows * of.heads;
  Launch(device,
         {.blocks = (items + kWarps - 1) / kWarps, .threads = kWarps * 32},
         AddStretchesKernel{of,
                            launch.prefix.head_dim,
                            launch.committed,
                            {device, launch.length},
                            PathSize(launch),
                            {device, paths},
                            {device, partials},
                            {device, launch.y}});
}

}  // namespace banyan::BANYAN_MAKER
