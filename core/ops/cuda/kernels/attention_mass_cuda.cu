// AttentionMass, in three launches.
//
// A warp has up to 16 queries of one key head (rows, and the heads that share
// keys) and a stretch of whole chunks. It goes along each chunk a unit of 32
// slots at a time, as attention does along positions, and leaves of every query
// and chunk the largest score and the sum of the weights below it. Then a warp
// puts the chunks of a query together, lanes taking them in turn and being
// added by halves; then a thread adds up the parts of a chunk of the heads that
// share keys, in order. Nothing of that depends on the rows beside one.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/kv_layout.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/device/scores.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kWarps = 4;
// What a warp reads its queries for, about.
constexpr int kSlotsOfAWarp = 128;

// How rows, heads and chunks are shared out, and where results stand.
struct Chunks {
  Chunks() = default;
  explicit Chunks(const AttentionMassArgs& args)
      : rows(args.queries.rows),
        heads(args.heads),
        group(args.heads / args.prefix->kv_heads),
        tiles((rows * group + kQueriesOfAWarp - 1) / kQueriesOfAWarp),
        slots(args.committed),
        chunk(args.chunk),
        chunks(args.y.columns),
        of_a_warp(chunk < kSlotsOfAWarp ? kSlotsOfAWarp / chunk : 1),
        stretches((chunks + of_a_warp - 1) / of_a_warp) {}

  std::int64_t queries() const { return std::int64_t{rows} * heads; }
  // Of all queries: a Softmax of each chunk, and one of all.
  std::size_t Numbers() const {
    return static_cast<std::size_t>(queries() * (chunks + 1) * 2);
  }
  // `chunk` may be chunks: of all.
  BANYAN_DEVICE std::int64_t At(int row, int head, int of_chunk) const {
    return ((std::int64_t{row} * heads + head) * (chunks + 1) + of_chunk) * 2;
  }

  int rows = 0;
  int heads = 0;
  int group = 1;  // heads that share keys
  int tiles = 0;  // of queries, of one key head
  int slots = 0;
  int chunk = 1;  // slots
  int chunks = 0;
  int of_a_warp = 1;  // chunks
  int stretches = 0;
};

// The sum of weights that are measured by a larger score.
BANYAN_DEVICE float Below(const Softmax& part, float largest) {
  return part.largest == largest ? part.sum
                                 : part.sum * Exp(part.largest - largest);
}

struct ChunkKernel {
  static constexpr const char* kName = "attention_chunks";
  static constexpr int kMostThreads = kWarps * 32;
  Chunks of;
  Matrix<const float> queries;
  KvCacheOf<const std::uint32_t> prefix;
  Global<float> results;

  // The keys of slots [first, end), at most a unit.
  BANYAN_DEVICE void Look(const Thread& t, int kv_head, int first, int end,
                          const LaneQueries& asked,
                          Softmax (&softmax)[2]) const {
    LaneScores scores;
    scores.Find(t, queries, asked, prefix.head_dim, prefix.width,
                [&](int j, int word) -> Pack<std::uint32_t, 4> {
                  const int slot = first + j * 8 + t.lane() / 4;
                  if (slot >= end) return {};
                  return prefix.keys.template ReadPack<4>(
                      prefix.Row(kv_head, slot) / 2 + word);
                });
    BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
      bool seen[8];
      float own[8];
      BANYAN_UNROLL for (int i = 0; i < 8; ++i) {
        seen[i] = first + PlaceOfLane(t, i) < end;
        own[i] = scores.At(q, i);
      }
      softmax[q].Put(Softmax::Of(t, seen, own));
    }
  }

  BANYAN_DEVICE void operator()(const Thread& t) const {
    // The tiles that look at one stretch stand together.
    const std::int64_t item = std::int64_t{t.block()} * kWarps + t.warp();
    const auto tile = static_cast<int>(item % of.tiles);
    const auto stretch = static_cast<int>(item / of.tiles % of.stretches);
    const auto kv_head = static_cast<int>(item / of.tiles / of.stretches);
    if (kv_head >= prefix.kv_heads) return;
    LaneQueries asked;
    int row[2];
    int head[2];
    BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
      const int query = tile * kQueriesOfAWarp + t.lane() / 4 + q * 8;
      row[q] = query / of.group;
      head[q] = kv_head * of.group + query % of.group;
      if (row[q] < of.rows) asked.Take(q, row[q], head[q] * prefix.head_dim);
    }
    for (int i = 0; i < of.of_a_warp; ++i) {
      const int chunk = stretch * of.of_a_warp + i;
      if (chunk >= of.chunks) break;
      const int begin = chunk * of.chunk;
      const int end = begin + of.chunk < of.slots ? begin + of.chunk : of.slots;
      Softmax softmax[2];
      for (int first = begin; first < end; first += kUnit)
        Look(t, kv_head, first, end, asked, softmax);
      BANYAN_UNROLL for (int q = 0; q < 2; ++q) {
        if (t.lane() % 4 == 0 && row[q] < of.rows)
          WriteSoftmax(results, of.At(row[q], head[q], chunk), softmax[q]);
      }
    }
  }
};

// A warp a query.
struct TotalKernel {
  static constexpr const char* kName = "attention_totals";
  Chunks of;
  Global<float> results;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const std::int64_t query = std::int64_t{t.block()} * kWarps + t.warp();
    const auto row = static_cast<int>(query / of.heads);
    const auto head = static_cast<int>(query % of.heads);
    if (row >= of.rows) return;
    Softmax all;
    for (int chunk = t.lane(); chunk < of.chunks; chunk += 32)
      all.largest = fmaxf(all.largest, results.Read(of.At(row, head, chunk)));
    for (int lanes = 16; lanes > 0; lanes /= 2)
      all.largest = fmaxf(all.largest, t.ShuffleXor(all.largest, lanes));
    for (int chunk = t.lane(); chunk < of.chunks; chunk += 32)
      all.sum +=
          Below(ReadSoftmax(results, of.At(row, head, chunk)), all.largest);
    for (int lanes = 16; lanes > 0; lanes /= 2)
      all.sum += t.ShuffleXor(all.sum, lanes);
    if (t.lane() == 0) WriteSoftmax(results, of.At(row, head, of.chunks), all);
  }
};

// A thread a number.
struct MassKernel {
  static constexpr const char* kName = "attention_mass";
  Chunks of;
  Global<const float> results;
  Matrix<float> y;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const auto [place, chunk] = PlaceOf(t, y.columns);
    if (place >= y.rows) return;
    const int kv_heads = of.heads / of.group;
    const int row = place / kv_heads;
    const int first = place % kv_heads * of.group;
    float mass = 0;
    for (int head = first; head < first + of.group; ++head) {
      const Softmax all = ReadSoftmax(results, of.At(row, head, of.chunks));
      const Softmax part = ReadSoftmax(results, of.At(row, head, chunk));
      mass += Below(part, all.largest) / all.sum;
    }
    y.Write(place, chunk, mass);
  }
};

}  // namespace

std::size_t AttentionMassScratch(const AttentionMassArgs& args) {
  return Chunks(args).Numbers() * sizeof(float);
}

void LaunchAttentionMass(CudaDevice& device, const AttentionMassArgs& args,
                         DeviceSpan scratch) {
  if (args.queries.rows == 0) return;
  const Chunks of(args);
  const int items = args.prefix->kv_heads * of.tiles * of.stretches;
  Launch(device,
         {.blocks = (items + kWarps - 1) / kWarps, .threads = kWarps * 32},
         ChunkKernel{of,
                     {device, args.queries},
                     {device, *args.prefix},
                     {device, scratch}});
  Launch(device,
         {.blocks = static_cast<int>((of.queries() + kWarps - 1) / kWarps),
          .threads = kWarps * 32},
         TotalKernel{of, {device, scratch}});
  Launch(device, ForEachNumber(args.y),
         MassKernel{of, {device, scratch}, {device, args.y}});
}

}  // namespace banyan::BANYAN_MAKER
