// Linear: a weight streamed once past all rows of activations.
//
// A block has 16 to 64 rows of the weight and up to 64 of the activations; its
// eight warps have an eighth of the columns each and go along them tile by
// tile. Both factors come by copies ahead, through a ring of stages that each
// warp has of its own (Ring), so that reading never waits for multiplying. A
// number of y is the sum of its tiles in this order: within a tile as the
// instruction adds, tile after tile within an eighth, eighth after eighth, then
// the bias, then what y held. Nothing of that depends on other rows of x.
//
// A row is rounded to bfloat16, or quantised for q8 weights, where it is
// multiplied, after its norm if it has one, of which the sums of squares are
// there already. Of many rows that is done once, by a launch of its own
// (packed_rows.h); their numbers are the same.
//
// With f32 weights there are no fragments: lanes 0 to 15 of a warp have a row
// of the weight each for the first half of an eighth's columns, lanes 16 to 31
// for the second.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/base/weight_format.h"
#include "core/device/cuda/kernel.h"
#include "core/device/cuda/pack.h"
#include "core/ops/cuda/device/fragments.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/normed_rows.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/device/packed_rows.h"
#include "core/ops/cuda/device/product_end.h"
#include "core/ops/cuda/device/products.h"
#include "core/ops/cuda/device/weight_reader.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kSplits = 8;
constexpr int kThreads = kSplits * 32;

// The tiles of one split.
BANYAN_DEVICE int FirstTile(int split, int tiles) {
  return static_cast<int>(std::int64_t{split} * tiles / kSplits);
}

// A block has kTiles times 16 rows of the weight and kGroups times 8 of x.
template <typename Product, int kGroups, int kTiles>
struct LinearKernel {
  static constexpr const char* kName = Product::kName;
  static constexpr bool kAwaits = true;
  static constexpr int kMostThreads = kThreads;
  static constexpr int kTileWords =
      kTiles * Product::kWeightWords + kGroups * Product::kRowsWords;
  // Of the block's memory: the rows' scales, and a tile of all warps.
  static constexpr int kScaleBytes =
      kGroups * 8 * static_cast<int>(sizeof(float));
  static constexpr int kTileBytes = kSplits * kTileWords * 4;
  // The tiles of columns of a stage, for every row of weight and x. Two
  // stages and more are on their way while one is multiplied.
  static constexpr bool Fits(int tiles) {
    return 2 * tiles * kTileBytes + kScaleBytes <=
           LaunchShape::kLeastSharedBytes;
  }
  static constexpr int kAhead = kGroups <= 2 && Fits(4)            ? 4
                                : kGroups * kTiles <= 4 && Fits(2) ? 2
                                                                   : 1;
  static constexpr int kMostStages = kAhead == 4 || kTiles > 2 ? 3 : 4;
  static constexpr int kStageWords = kAhead * kTileWords;
  static constexpr int kStageBytes = kAhead * kTileBytes;
  static_assert(2 * kStageBytes >= kSplits * kGroups * 128 * 4);
  static_assert(Fits(kAhead));

  // As many stages as a block has room for, two at least.
  static int StagesOf(int shared_bytes) {
    const int room = (shared_bytes - kScaleBytes) / kStageBytes;
    return room < kMostStages ? room : kMostStages;
  }

  WeightReader weight;
  typename Product::Source source;
  ProductEnd to;
  int chunks;  // of rows of x
  int stages = kMostStages;

  BANYAN_DEVICE static int WeightAt(int k, int r) {
    return k * kTileWords + r * Product::kWeightWords;
  }
  BANYAN_DEVICE static int RowsAt(int k, int g) {
    return k * kTileWords + kTiles * Product::kWeightWords +
           g * Product::kRowsWords;
  }

  // A block's place.
  struct Place {
    int first_tile;   // of the weight's rows
    int first_group;  // of x's
    int begin, end;   // the warp's tiles of columns
  };

  BANYAN_DEVICE void AskWeights(const Thread& t, const Ring& ring,
                                const Place& place, int stage) const {
    const int at = stage % stages * kStageWords;
    BANYAN_UNROLL for (int k = 0; k < kAhead; ++k) {
      const int tile = place.begin + stage * kAhead + k;
      if (tile >= place.end) break;
      BANYAN_UNROLL for (int r = 0; r < kTiles; ++r) {
        if (place.first_tile + r < weight.row_tiles())
          Product::AskWeight(t, ring, at + WeightAt(k, r), weight,
                             weight.Tile(place.first_tile + r, tile));
      }
    }
  }
  // Those of a stage, whose weights have been asked for.
  BANYAN_DEVICE void AskRows(const Thread& t, const Ring& ring,
                             const Place& place, int stage) const {
    const int at = stage % stages * kStageWords;
    BANYAN_UNROLL for (int k = 0; k < kAhead; ++k) {
      const int tile = place.begin + stage * kAhead + k;
      if (tile >= place.end) break;
      BANYAN_UNROLL for (int g = 0; g < kGroups; ++g) Product::AskRows(
          t, ring, at + RowsAt(k, g), source, place.first_group + g, tile);
    }
    t.CommitCopies();
  }

  // For the earliest stage under way.
  BANYAN_DEVICE void WaitForStage(const Thread& t) const {
    if (stages == 2)
      t.template WaitCopies<0>();
    else if (stages == 3)
      t.template WaitCopies<1>();
    else
      t.template WaitCopies<2>();
  }

  using Sums = std::array<float, 4>[kTiles][kGroups];

  BANYAN_DEVICE void Add(const Thread& t, const Ring& ring, const Place& place,
                         int stage, const float (&scales)[kGroups],
                         Sums& sums) const {
    const int at = stage % stages * kStageWords;
    BANYAN_UNROLL for (int k = 0; k < kAhead; ++k) {
      const int tile = place.begin + stage * kAhead + k;
      if (tile >= place.end) break;
      Product products[kTiles] = {};
      BANYAN_UNROLL for (int r = 0; r < kTiles; ++r) {
        if (place.first_tile + r < weight.row_tiles())
          products[r].Read(t, ring, at + WeightAt(k, r));
      }
      BANYAN_UNROLL for (int g = 0; g < kGroups; ++g) {
        const auto rows =
            Product::RowsOf(t, ring, at + RowsAt(k, g), source,
                            place.first_group + g, tile, scales[g]);
        BANYAN_UNROLL for (int r = 0; r < kTiles; ++r) products[r].AddTo(
            t, rows, sums[r][g]);
      }
    }
  }

  // The sums of all splits, tile by tile of the weight's rows.
  BANYAN_DEVICE void Store(const Thread& t, const Place& place,
                           const Sums& sums) const {
    // By split, then by group of rows of x, as fragments.
    const Shared<float> shared =
        t.SharedArray<float>(0, kSplits * kGroups * 128);
    BANYAN_ROLL for (int r = 0; r < kTiles; ++r) {
      t.Sync();  // what stood there has been read
      // Registers have no number: each tile's are named where they are read.
      BANYAN_UNROLL for (int own = 0; own < kTiles; ++own) {
        if (own == r) {
          BANYAN_UNROLL for (int g = 0; g < kGroups; ++g)
              shared.template WritePack<4>(
                  (t.warp() * kGroups + g) * 128 + t.lane() * 4,
                  {{sums[own][g][0], sums[own][g][1], sums[own][g][2],
                    sums[own][g][3]}});
        }
      }
      t.Sync();
      BANYAN_ROLL for (int at = t.index(); at < kGroups * 128; at += kThreads) {
        float sum = shared.Read(at);
        for (int split = 1; split < kSplits; ++split)
          sum += shared.Read(split * kGroups * 128 + at);
        shared.Write(at, sum);
      }
      t.Sync();
      if (place.first_tile + r >= weight.row_tiles()) continue;
      BANYAN_ROLL for (int at = t.index(); at < kGroups * 32; at += kThreads) {
        const int row = at / 4;  // of the block's rows of x
        float own[4];
        BANYAN_UNROLL for (int i = 0; i < 4; ++i) own[i] =
            shared.Read(SumAt(row, at % 4 * 2, i));
        to.Write(place.first_group * 8 + row, place.first_tile + r, at % 4 * 2,
                 own);
        if (to.squares.empty()) continue;
        BANYAN_UNROLL for (int i = 0; i < 4; ++i)
            shared.Write(SumAt(row, at % 4 * 2, i), own[i]);
      }
      if (!to.squares.empty()) StoreSquares(t, place, r, shared);
    }
  }

  // Where the fragments have the sum of a row of x and of the weight's row
  // InTile(r, i).
  BANYAN_DEVICE static int SumAt(int row, int r, int i) {
    const int lane = (r + i % 2) * 4 + row % 8 / 2;
    return row / 8 * 128 + lane * 4 + i / 2 * 2 + row % 2;
  }

  // Of the numbers of y that `shared` holds, as fragments.
  BANYAN_DEVICE void StoreSquares(const Thread& t, const Place& place, int r,
                                  const Shared<float>& shared) const {
    t.Sync();
    const int row = place.first_group * 8 + t.index();
    const int tile = place.first_tile + r;
    if (t.index() >= kGroups * 8 || row >= to.squares.rows) return;
    to.squares.Write(row, tile, SquaresOf(tile, to.y.columns, [&](int column) {
                       const int within = column % 16;
                       return shared.Read(SumAt(t.index(), within % 8 / 2 * 2,
                                                within / 8 * 2 + within % 2));
                     }));
  }

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int tiles = weight.tiles();
    // Blocks of the same rows of the weight stand together: it comes from the
    // device's memory once for all rows of x.
    const Place place = {
        t.block() / chunks * kTiles, t.block() % chunks * kGroups,
        FirstTile(t.warp(), tiles), FirstTile(t.warp() + 1, tiles)};
    const int ring_words = stages * kStageWords;
    const Ring ring = {
        t.SharedArray<std::uint32_t>(t.warp() * ring_words * 4, ring_words),
        t.SharedArray<float>(t.warp() * ring_words * 4, ring_words)};
    // No launch writes weights: they are on their way while the launch before
    // this one still makes the rows.
    for (int stage = 0; stage < stages - 1; ++stage)
      AskWeights(t, ring, place, stage);
    t.AwaitLaunchBefore();
    for (int stage = 0; stage < stages - 1; ++stage)
      AskRows(t, ring, place, stage);
    float scales[kGroups] = {};
    source.ReadScales(t, place.first_group * 8,
                      t.SharedArray<float>(stages * kStageBytes, kGroups * 8),
                      scales);
    Sums sums = {};
    const int last = (place.end - place.begin + kAhead - 1) / kAhead;
    BANYAN_ROLL for (int stage = 0; stage < last; ++stage) {
      WaitForStage(t);
      // For all lanes, which have read the stage before too.
      if constexpr (Product::kShared) t.SyncWarp();
      AskWeights(t, ring, place, stage + stages - 1);
      AskRows(t, ring, place, stage + stages - 1);
      Add(t, ring, place, stage, scales, sums);
    }
    Store(t, place, sums);
  }
};

// A block has 16 rows of the weight and 8 of x.
struct LinearF32Kernel {
  static constexpr const char* kName = "linear_f32";
  static constexpr bool kAwaits = true;
  static constexpr int kRows = 8;
  WeightReader weight;
  Matrix<const float> x;
  Matrix<const float> bias;
  Matrix<float> y;
  bool add;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    t.AwaitLaunchBefore();
    constexpr int kParts = kSplits * 2;
    const int row_tile = t.block() % weight.row_tiles();
    const int first_row = t.block() / weight.row_tiles() * kRows;
    const int rows = x.rows - first_row < kRows ? x.rows - first_row : kRows;
    const int part = t.warp() * 2 + t.lane() / 16;
    float sums[kRows] = {};
    const int last = (part + 1) * weight.columns / kParts;
    for (int k = part * weight.columns / kParts; k < last; ++k) {
      const auto w = std::bit_cast<float>(
          weight.words.Read(weight.Tile(row_tile, k) + t.lane() % 16));
      BANYAN_UNROLL for (int i = 0; i < kRows; ++i) {
        if (i < rows) sums[i] = fmaf(x.Read(first_row + i, k), w, sums[i]);
      }
    }
    const Shared<float> shared = t.SharedArray<float>(0, kParts * 16 * kRows);
    BANYAN_UNROLL for (int i = 0; i < kRows; ++i)
        shared.Write((part * kRows + i) * 16 + t.lane() % 16, sums[i]);
    t.Sync();
    for (int at = t.index(); at < rows * 16; at += kThreads) {
      float sum = shared.Read(at);
      for (int i = 1; i < kParts; ++i) sum += shared.Read(i * 16 * kRows + at);
      const int column = row_tile * 16 + at % 16;
      if (column >= y.columns) continue;
      if (!bias.empty()) sum += bias.Read(0, column);
      if (add) sum += y.Read(first_row + at / 16, column);
      y.Write(first_row + at / 16, column, sum);
    }
  }
};

int StoredRowsOf(const DeviceWeight& weight) {
  return RowOrder{weight.rows, weight.pairs.pairs, weight.pairs.distance}
      .stored();
}

int BlocksOf(int things, int each) { return (things + each - 1) / each; }

template <typename Product, int kGroups, int kTiles>
void Multiply(CudaDevice& device, const LinearLaunch& launch) {
  using Kernel = LinearKernel<Product, kGroups, kTiles>;
  const int chunks = BlocksOf(launch.x.rows, kGroups * 8);
  const int stages = Kernel::StagesOf(device.facts().block_shared_bytes);
  Launch(device,
         {.blocks = BlocksOf(StoredRowsOf(launch.weight), kTiles * 16) * chunks,
          .threads = kThreads,
          .shared_bytes = stages * Kernel::kStageBytes + Kernel::kScaleBytes},
         Kernel{{device, launch.weight},
                {device, launch},
                {device, launch},
                chunks,
                stages});
}

// Every block reads the rows of x again, so few blocks with many rows of the
// weight read less; but then some multiprocessors have a block more than others
// have. Chosen is what lets the busiest one read least.
template <typename Product, int kGroups>
void MultiplyTiles(CudaDevice& device, const LinearLaunch& launch) {
  constexpr int kOfTheHostDevice = 132;
  const int found = device.facts().gpu.multiprocessors;
  const int multiprocessors = found > 0 ? found : kOfTheHostDevice;
  const int rows = std::min(launch.x.rows, kGroups * 8);
  // Words of a tile of columns.
  const auto busiest = [&](int tiles) {
    const int blocks = BlocksOf(StoredRowsOf(launch.weight), tiles * 16) *
                       BlocksOf(launch.x.rows, kGroups * 8);
    return BlocksOf(blocks, multiprocessors) *
           (tiles * Product::kWeightWords + rows * Product::kRowsWords / 8);
  };
  const int least = std::min(busiest(1), busiest(2));
  // More registers than there are would be needed for 64 rows of q8.
  if constexpr (kGroups < 8 || !Product::kScaled) {
    if (busiest(4) < least)
      return Multiply<Product, kGroups, 4>(device, launch);
  }
  return least < busiest(1) ? Multiply<Product, kGroups, 2>(device, launch)
                            : Multiply<Product, kGroups, 1>(device, launch);
}

// As many rows of x as are rounded or quantised where they are multiplied.
constexpr int kFewRows = 16;

template <typename Few, typename Many>
void MultiplyAny(CudaDevice& device, const LinearLaunch& launch) {
  if (launch.x.rows <= 8) return MultiplyTiles<Few, 1>(device, launch);
  if (launch.x.rows <= kFewRows) return MultiplyTiles<Few, 2>(device, launch);
  PackRows<Many::kScaled>(device, launch);
  if (launch.x.rows <= 32) return MultiplyTiles<Many, 4>(device, launch);
  return MultiplyTiles<Many, 8>(device, launch);
}

}  // namespace

std::size_t LinearScratch(const LinearLaunch& launch) {
  if (launch.weight.format == WeightFormat::kF32 || launch.x.rows <= kFewRows)
    return 0;
  return static_cast<std::size_t>(PackedOf(launch).words()) *
         sizeof(std::uint32_t);
}

void LaunchLinear(CudaDevice& device, const LinearLaunch& launch) {
  if (launch.x.rows == 0) return;
  if (launch.weight.format == WeightFormat::kF32) {
    const int chunks =
        (launch.x.rows + LinearF32Kernel::kRows - 1) / LinearF32Kernel::kRows;
    Launch(device,
           {.blocks = (launch.weight.rows + 15) / 16 * chunks,
            .threads = kThreads,
            .shared_bytes = kSplits * 2 * 16 * LinearF32Kernel::kRows *
                            static_cast<int>(sizeof(float))},
           LinearF32Kernel{{device, launch.weight},
                           {device, launch.x},
                           {device, launch.bias},
                           {device, launch.y},
                           launch.add});
    return;
  }
  if (launch.weight.format == WeightFormat::kQ8)
    MultiplyAny<Q8Product, PackedQ8Product>(device, launch);
  else
    MultiplyAny<Bf16Product, PackedBf16Product>(device, launch);
}

}  // namespace banyan::BANYAN_MAKER
