// Attention over a tree, as two products of fragments with a softmax between
// them.
//
// A warp has up to 16 queries of one key head and a unit: 32 positions, counted
// from the start of the text. Scores of queries and keys, the largest of the
// unit, weights as bfloat16s, their sum with the values. A stretch is 256
// positions. Its units are put together one after the other (Softmax::Put), and
// then the stretches of a query. Positions, not slots, say what is added to
// what; so a row gets the same whether its ancestors are committed or pending,
// and whatever stands beside it.
//
// A block does a stretch of positions that all rows share, a unit a warp, and
// puts the units together. Units that pending tokens have a part in are a row's
// own (AttentionParts): their keys and values are gathered along the row's
// path, and they are left as they are. A second launch puts both together.
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/device/cuda/pack.h"
#include "core/ops/cuda/device/attended.h"
#include "core/ops/cuda/device/kv_layout.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/device/scores.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kThreads = kUnits * 32;
constexpr int kQueries = kQueriesOfAWarp;
constexpr int kColumns = 64;  // of values that a block puts together at once
// Of the block's memory: sums of values by unit and query, then a Softmax of
// each.
constexpr int kValueNumbers = kUnits * kQueries * kColumns;
constexpr int kSharedBytes =
    (kValueNumbers + kUnits * kQueries * 2) * static_cast<int>(sizeof(float));

// Multiplies what stands for `before` and adds a part.
template <int kCount>
BANYAN_DEVICE void PutNumbers(const Softmax::Shares& shares,
                              const Pack<float, kCount>& part,
                              Pack<float, kCount>& all) {
  BANYAN_UNROLL for (int i = 0; i < kCount; ++i) all.at[i] =
      fmaf(part.at[i], shares.part, all.at[i] * shares.before);
}

// The rows of one sequence.
struct Attending {
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
        y(device, args.y),
        partials(device, scratch) {}

  int blocks() const {
    return of.shared_blocks() + (of.own_warps() + kUnits - 1) / kUnits;
  }

  AttentionParts of;
  Matrix<const float> queries;
  KvCacheOf<const std::uint32_t> prefix;
  KvCacheOf<const std::uint32_t> pending;
  int first_committed = 0;
  int first_pending_slot = 0;
  Global<const std::int32_t> live;  // to be added to both
  int window = 0;
  Ancestors ancestors;
  Matrix<float> y;
  Global<float> partials;

  // A unit, as a warp's queries see it.
  struct Unit {
    int kv_head = 0;
    int committed = 0;
    int pending_slot = 0;
    int first = 0;       // position
    int end = 0;         // there is nothing from there on
    int row = -1;        // whose own it is, -1: it is shared
    int place = 0;       // of a row's own: the lane's position's pending token
    int length[2] = {};  // that the lane's queries see
    LaneQueries queries = {};
  };

  // Where the key and value of a position stand: the first word among the
  // committed ones, or among the pending ones.
  struct Slot {
    std::int64_t word = -1;  // -1: nowhere
    bool is_pending = false;
  };
  // Of the unit's position `at`, by all lanes of the warp.
  BANYAN_DEVICE Slot At(const Thread& t, const Unit& unit, int at) const {
    const int position = unit.first + at;
    int place = position - unit.committed;
    if (unit.row >= 0) place = t.ShuffleFrom(unit.place, at);
    if (position < unit.committed)
      return {prefix.Row(unit.kv_head, position) / 2, false};
    if (position >= unit.end) return {};
    return {pending.Row(unit.kv_head, unit.pending_slot + place) / 2, true};
  }
  template <int kCount>
  BANYAN_DEVICE static Pack<std::uint32_t, kCount> Words(
      const Slot& slot, const Global<const std::uint32_t>& committed_words,
      const Global<const std::uint32_t>& pending_words, int word) {
    if (slot.word < 0) return {};
    return slot.is_pending
               ? pending_words.template ReadPack<kCount>(slot.word + word)
               : committed_words.template ReadPack<kCount>(slot.word + word);
  }

  // Of the lane's two queries: the softmax of a unit, and the weights of its
  // positions, as fragments of the first and of the last sixteen.
  struct Weights {
    Softmax softmax[2];
    std::array<std::uint32_t, 4> words[2];
  };
  BANYAN_DEVICE Weights Weigh(const Thread& t, const Unit& unit) const {
    Slot keys[4];
    BANYAN_UNROLL for (int j = 0; j < 4; ++j) keys[j] =
        At(t, unit, t.lane() / 4 + j * 8);
    LaneScores scores;
    scores.Find(t, queries, unit.queries, of.head_dim, of.width,
                [&](int j, int word) {
                  return Words<4>(keys[j], prefix.keys, pending.keys, word);
                });
    Weights weights;
    BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
      float own[8];
      bool seen[8];
      const int length = unit.length[q];
      BANYAN_UNROLL for (int i = 0; i < 8; ++i) {
        const int position = unit.first + PlaceOfLane(t, i);
        seen[i] =
            position < length && (window == 0 || position >= length - window);
        own[i] = scores.At(q, i);
      }
      weights.softmax[q] = Softmax::Of(t, seen, own);
      BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
        BANYAN_UNROLL for (int i = 0; i < 2; ++i) {
          const int at = half * 4 + i * 2;
          weights.words[half][q + i * 2] = ToBf16(own[at]) | ToBf16(own[at + 1])
                                                                 << 16;
        }
      }
    }
    return weights;
  }

  // Adds up a unit's values, of columns `first` on: of the lane's query q,
  // `put(q, at, sums)` gets those of columns first + at to first + at + 3.
  template <int kWords, typename Put>
  BANYAN_DEVICE void AddValues(const Thread& t, const Slot (&slots)[8],
                               const Weights& weights, int first,
                               const Put& put) const {
    Pack<std::uint32_t, kWords> at[8];
    BANYAN_UNROLL for (int i = 0; i < 8; ++i) at[i] =
        Words<kWords>(slots[i], prefix.values, pending.values,
                      first / 2 + t.lane() / 4 * kWords);
    std::array<float, 4> sums[2 * kWords] = {};
    BANYAN_UNROLL for (int o = 0; o < 2 * kWords; ++o) {
      const auto both = [&](int i) {
        const int shift = 16 * (o % 2);
        return (at[i].at[o / 2] >> shift & 0xffffU) |
               (at[i + 1].at[o / 2] >> shift & 0xffffU) << 16;
      };
      t.Multiply(weights.words[0], {both(0), both(2)}, sums[o]);
      t.Multiply(weights.words[1], {both(4), both(6)}, sums[o]);
    }
    BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
      BANYAN_UNROLL for (int i = 0; i < 2; ++i) {
        BANYAN_UNROLL for (int o = 0; o < 2 * kWords; o += 4) put(
            q, (t.lane() % 4 * 2 + i) * 2 * kWords + o,
            Pack<float, 4>{{sums[o][q * 2 + i], sums[o + 1][q * 2 + i],
                            sums[o + 2][q * 2 + i], sums[o + 3][q * 2 + i]}});
      }
    }
  }

  // The first one of which a query that sees `length` positions sees any.
  BANYAN_DEVICE int FirstStretch(int length) const {
    return window > 0 && length > window ? (length - window) / kStretch : 0;
  }

  // A block's place: a stretch of shared positions and a tile of queries, or,
  // for each of its warps, a row and a tile of its heads.
  struct Item {
    bool is_shared = false;
    int kv_head = 0;
    int tile = 0;
    int stretch = 0;
    int row = 0;
    int units = 0;  // of the stretch, or of the row's own
  };
  BANYAN_DEVICE Item ItemOf(const Thread& t, int block, int committed) const {
    Item item;
    item.is_shared = block < of.shared_blocks();
    if (item.is_shared) {
      // The tiles that look at one stretch stand together.
      item.tile = block % of.tiles;
      item.stretch = block / of.tiles % of.stretches;
      item.kv_head = block / of.tiles / of.stretches;
      const int last = (item.tile * kQueries + kQueries - 1) / of.group;
      item.row = last < of.rows ? last : of.rows - 1;
    } else {
      const int own = (block - of.shared_blocks()) * kUnits + t.warp();
      item.row = own % of.rows;
      item.tile = own / of.rows % of.head_tiles;
      item.kv_head = own / of.rows / of.head_tiles;
      if (item.kv_head >= of.kv_heads()) return item;
    }
    if (item.is_shared && item.stretch < FirstStretch(committed + 1))
      return item;
    const int pending_now = ancestors.Count(item.row);
    const int shared = of.SharedEnd(committed, pending_now);
    const int positions = item.is_shared ? shared - item.stretch * kStretch
                                         : committed + pending_now - shared;
    item.units = (positions + kUnit - 1) / kUnit;
    if (item.is_shared && item.units > kUnits) item.units = kUnits;
    return item;
  }

  // Query q of the lane: its row, -1 if there is none, and its head.
  struct Query {
    int row;
    int head;  // of those that share the key
  };
  BANYAN_DEVICE Query QueryOf(const Thread& t, const Item& item, int q) const {
    const int query = item.tile * kQueries + t.lane() / 4 + q * 8;
    if (!item.is_shared) return {query < of.group ? item.row : -1, query};
    const int row = query / of.group;
    return {row < of.rows ? row : -1, query % of.group};
  }

  BANYAN_DEVICE void Run(const Thread& t, int block) const {
    const int length_now = LiveNumber(live);
    const int committed = first_committed + length_now;
    const Item item = ItemOf(t, block, committed);
    if (item.units <= 0) return;
    Unit unit = {.kv_head = item.kv_head,
                 .committed = committed,
                 .pending_slot = first_pending_slot + length_now};
    BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
      const Query query = QueryOf(t, item, q);
      if (query.row < 0) continue;
      unit.length[q] = committed + ancestors.Count(query.row);
      unit.queries.Take(q, query.row,
                        (item.kv_head * of.group + query.head) * of.head_dim);
    }
    unit.end = committed + ancestors.Count(item.row);
    if (!item.is_shared) unit.row = item.row;
    const Shared<float> values = t.SharedArray<float>(0, kValueNumbers);
    const Shared<float> softmaxes =
        t.SharedArray<float>(kValueNumbers * 4, kUnits * kQueries * 2);
    // A warp has a unit of the stretch, or all of a row's own.
    int number = item.is_shared ? t.warp() : 0;
    unit.first = (item.is_shared ? item.stretch * kStretch
                                 : of.SharedEnd(committed, 0)) +
                 number * kUnit;
    BANYAN_ROLL while (true) {
      const bool has_unit = number < item.units;
      Weights weights;
      Slot slots[8];
      if (has_unit) {
        const int depth = unit.first + t.lane() - committed;
        if (unit.row >= 0 && depth >= 0 && depth + committed < unit.end)
          unit.place = ancestors.Place(unit.row, depth);
        weights = Weigh(t, unit);
        BANYAN_UNROLL for (int i = 0; i < 8; ++i) slots[i] =
            At(t, unit, PlaceOfLane(t, i));
        BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
          if (t.lane() % 4 != 0) continue;
          const int query = t.lane() / 4 + q * 8;
          if (item.is_shared)
            WriteSoftmax(softmaxes, (t.warp() * kQueries + query) * 2,
                         weights.softmax[q]);
          else if (item.tile * kQueries + query < of.group)
            WriteSoftmax(partials,
                         of.OfUnit(item.kv_head, item.row, number,
                                   item.tile * kQueries + query) +
                             of.width,
                         weights.softmax[q]);
        }
      }
      BANYAN_ROLL for (int first = 0; first < of.width; first += kColumns) {
        const auto put = [&](int q, int at, const Pack<float, 4>& sums) {
          const int query = t.lane() / 4 + q * 8;
          if (item.is_shared)
            values.template WritePack<4>(
                (t.warp() * kQueries + query) * kColumns + at, sums);
          else if (item.tile * kQueries + query < of.group)
            partials.template WritePack<4>(
                of.OfUnit(item.kv_head, item.row, number,
                          item.tile * kQueries + query) +
                    first + at,
                sums);
        };
        if (has_unit) {
          if (of.width - first >= kColumns)
            AddValues<4>(t, slots, weights, first, put);
          else
            AddValues<2>(t, slots, weights, first, put);
        }
        if (item.is_shared) PutUnitsTogether(t, item, first, values, softmaxes);
      }
      if (item.is_shared) return;
      unit.first += kUnit;
      if (++number == item.units) return;
    }
  }

  // The units of a stretch, of columns `first` on: a thread has four numbers of
  // a query.
  BANYAN_DEVICE void PutUnitsTogether(const Thread& t, const Item& item,
                                      int first, const Shared<float>& values,
                                      const Shared<float>& softmaxes) const {
    t.Sync();
    const int query = t.index() / 16;
    const int column = t.index() % 16 * 4;
    if (first + column < of.width) {
      Softmax all;
      Pack<float, 4> sums = {};
      BANYAN_ROLL for (int i = 0; i < item.units; ++i) {
        const int place = i * kQueries + query;
        const Softmax::Shares shares =
            all.Put(ReadSoftmax(softmaxes, place * 2));
        PutNumbers(shares,
                   values.template ReadPack<4>(place * kColumns + column),
                   sums);
      }
      const std::int64_t to =
          of.OfStretch(item.kv_head, item.tile, item.stretch, query);
      partials.template WritePack<4>(to + first + column, sums);
      if (first == 0 && column == 0) WriteSoftmax(partials, to + of.width, all);
    }
    t.Sync();  // before the next columns are written there
  }

  // Puts the partial results of a row together: four numbers of a head.
  BANYAN_DEVICE void PutTogether(int row, int head, int column) const {
    const int committed = first_committed + LiveNumber(live);
    const int pending_now = ancestors.Count(row);
    const int length = committed + pending_now;
    const int shared = of.SharedEnd(committed, pending_now);
    const int kv_head = head / of.group;
    const int query = row * of.group + head % of.group;
    Softmax all;
    Pack<float, 4> numbers = {};
    BANYAN_ROLL for (int begin = FirstStretch(length) * kStretch;
                     begin < length; begin += kStretch) {
      Softmax of_stretch;
      Pack<float, 4> sums = {};
      const auto put = [&](std::int64_t from) {
        const Softmax::Shares shares =
            of_stretch.Put(ReadSoftmax(partials, from + of.width));
        PutNumbers(shares, partials.template ReadPack<4>(from + column), sums);
      };
      if (begin < shared)
        put(of.OfStretch(kv_head, query / kQueries, begin / kStretch,
                         query % kQueries));
      const int end = begin + kStretch < length ? begin + kStretch : length;
      for (int at = begin < shared ? shared : begin; at < end; at += kUnit)
        put(of.OfUnit(kv_head, row, (at - shared) / kUnit, head % of.group));
      PutNumbers(all.Put(of_stretch), sums, numbers);
    }
    BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
      // Plus 0, which turns -0 into +0: a unit that adds nothing does so too.
      if (column + i < of.head_dim)
        y.Write(row, head * of.head_dim + column + i,
                numbers.at[i] / all.sum + 0.0F);
    }
  }
};

struct AttentionKernel {
  static constexpr const char* kName = "attention";
  static constexpr bool kAwaits = true;
  static constexpr int kMostThreads = kThreads;
  Attending sequences[kMostSequences];
  int first_block[kMostSequences];
  int count;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    int own = count - 1;
    while (t.block() < first_block[own]) --own;
    sequences[own].Run(t, t.block() - first_block[own]);
  }
};

// A thread four numbers of a head, rows of a sequence after those of the one
// before.
struct PutTogetherKernel {
  static constexpr const char* kName = "attention_sums";
  static constexpr bool kAwaits = true;
  Attending sequences[kMostSequences];
  int first_row[kMostSequences];
  int count;
  int rows;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    const AttentionParts& of = sequences[0].of;
    const int packs = (of.head_dim + 3) / 4;
    const Place at = PlaceOf(t, of.heads * packs);
    if (at.row >= rows) return;
    int own = count - 1;
    while (at.row < first_row[own]) --own;
    sequences[own].PutTogether(at.row - first_row[own], at.column / packs,
                               at.column % packs * 4);
  }
};

// Each sequence's part of the scratch.
std::size_t ScratchOf(const AttentionArgs& args) {
  return (AttentionParts(args).numbers() * sizeof(float) + 255) / 256 * 256;
}

}  // namespace

std::size_t AttentionScratch(absl::Span<const AttentionArgs> all) {
  std::size_t bytes = 0;
  for (const AttentionArgs& args : all) bytes += ScratchOf(args);
  return bytes;
}

void LaunchAttention(CudaDevice& device, absl::Span<const AttentionArgs> all,
                     DeviceSpan scratch) {
  AttentionKernel kernel = {};
  PutTogetherKernel sums = {};
  int blocks = 0;
  std::size_t used = 0;
  for (const AttentionArgs& args : all) {
    const Attending sequence(device, args, scratch.Part(used, ScratchOf(args)));
    used += ScratchOf(args);
    kernel.first_block[kernel.count] = blocks;
    kernel.sequences[kernel.count++] = sequence;
    blocks += sequence.blocks();
    sums.first_row[sums.count] = sums.rows;
    sums.sequences[sums.count++] = sequence;
    sums.rows += sequence.of.rows;
  }
  if (sums.rows == 0) return;
  Launch(device,
         {.blocks = blocks, .threads = kThreads, .shared_bytes = kSharedBytes},
         kernel);
  const AttentionParts& of = sums.sequences[0].of;
  Launch(device,
         ForEach(std::int64_t{sums.rows} * of.heads * ((of.head_dim + 3) / 4)),
         sums);
}

}  // namespace banyan::BANYAN_MAKER
