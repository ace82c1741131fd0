// Linear: a weight streamed once past all rows of activations.
//
// Two launches. The first packs the activations (packed_rows.h), the second
// multiplies. A block has 16 to 64 rows of the weight and up to 64 of the
// activations; its eight warps have an eighth of the columns each, in
// stretches, and go along them tile by tile. A number of y is the sum of its
// tiles in this order: within a tile as the instruction adds, tile after tile
// within an eighth, eighth after eighth, then the bias, then what y held.
// Nothing of that depends on other rows of x.
//
// With f32 weights there are no fragments: lanes 0 to 15 of a warp have a row
// of the weight each for the first half of an eighth's columns, lanes 16 to 31
// for the second.
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/base/weight_format.h"
#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/fragments.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/device/packed_rows.h"
#include "core/ops/cuda/device/weight_reader.h"
#include "core/ops/cuda/kernels/launches.h"
#include "core/ops/cuda/kernels/op_kernels.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kSplits = 8;
constexpr int kThreads = kSplits * 32;

// Where a sum goes.
struct Destination {
  Matrix<const float> bias;
  Matrix<float> y;
  bool add;

  BANYAN_DEVICE void Write(int row, int column, float sum) const {
    if (row >= y.rows || column >= y.columns) return;
    if (!bias.empty()) sum += bias.Read(0, column);
    if (add) sum += y.Read(row, column);
    y.Write(row, column, sum);
  }
};

// What a lane has of a tile of the weight, and its product with what it has of
// 8 rows of x.
struct Bf16Product {
  static constexpr const char* kName = "linear_bf16";
  struct Rows {
    Pack<std::uint32_t, 2> words;
  };
  Pack<std::uint32_t, 4> words;

  BANYAN_DEVICE void Read(const Thread& t, const WeightReader& weight,
                          std::int64_t first) {
    words = weight.words.template ReadPack<4>(first + t.lane() * 4);
  }
  BANYAN_DEVICE static Rows RowsOf(const Thread& t, const Packed& packed,
                                   const Global<const std::uint32_t>& x,
                                   int group, std::int64_t tile) {
    return {packed.Read(x, group, tile, t.lane())};
  }
  BANYAN_DEVICE void AddTo(const Thread& t, const Rows& rows,
                           std::array<float, 4>& sums) const {
    t.Multiply({words.at[0], words.at[1], words.at[2], words.at[3]},
               {rows.words.at[0], rows.words.at[1]}, sums);
  }
};

struct Q8Product {
  static constexpr const char* kName = "linear_q8";
  struct Rows {
    Pack<std::uint32_t, 2> words;
    float scales[2];  // of the two rows that the lane has sums of
  };
  Pack<std::uint32_t, 4> words;
  float low;  // the scales of the lane's two rows
  float high;

  BANYAN_DEVICE void Read(const Thread& t, const WeightReader& weight,
                          std::int64_t first) {
    words = weight.words.template ReadPack<4>(first + t.lane() * 4);
    const std::uint32_t both =
        weight.scales.Read(first / 128 * 8 + t.lane() / 4);
    low = FromBf16(both & 0xffffU);
    high = FromBf16(both >> 16);
  }
  BANYAN_DEVICE static Rows RowsOf(const Thread& t, const Packed& packed,
                                   const Global<const std::uint32_t>& x,
                                   int group, std::int64_t tile) {
    const Pack<std::uint32_t, 2> scales =
        x.template ReadPack<2>(packed.Scale(group, tile, t.lane() % 4 * 2));
    return {packed.Read(x, group, tile, t.lane()),
            {std::bit_cast<float>(scales.at[0]),
             std::bit_cast<float>(scales.at[1])}};
  }
  BANYAN_DEVICE void AddTo(const Thread& t, const Rows& rows,
                           std::array<float, 4>& sums) const {
    std::array<std::int32_t, 4> whole = {};
    t.MultiplyBytes({words.at[0], words.at[1], words.at[2], words.at[3]},
                    {rows.words.at[0], rows.words.at[1]}, whole);
    BANYAN_UNROLL for (int i = 0; i < 4; ++i) sums[i] =
        fmaf(static_cast<float>(whole[i]) * rows.scales[i % 2],
             i < 2 ? low : high, sums[i]);
  }
};

// The tiles of one split.
BANYAN_DEVICE std::int64_t FirstTile(int split, std::int64_t tiles) {
  return split * tiles / kSplits;
}

// A block has kTiles times 16 rows of the weight and kGroups times 8 of x.
template <typename Product, int kGroups, int kTiles>
struct LinearKernel {
  static constexpr const char* kName = Product::kName;
  static constexpr int kMostThreads = kThreads;
  // Tiles whose numbers are asked for before the first is multiplied.
  static constexpr int kAhead = kTiles * kGroups > 8  ? 1
                                : kTiles* kGroups > 2 ? 2
                                                      : 4;
  using Sums = std::array<float, 4>[kTiles][kGroups];
  WeightReader weight;
  Packed packed;
  Global<const std::uint32_t> x;
  Destination to;

  // What is past the last rows is read as they are, and not written.
  template <int kNow>
  BANYAN_DEVICE void Add(const Thread& t, int first_tile, int first_group,
                         std::int64_t tile, Sums& sums) const {
    const int last_tile = (weight.rows + 15) / 16 - 1;
    const auto last_group = static_cast<int>(packed.groups) - 1;
    Product products[kNow][kTiles] = {};
    typename Product::Rows rows[kNow][kGroups];
    BANYAN_UNROLL for (int k = 0; k < kNow; ++k) {
      BANYAN_UNROLL for (int r = 0; r < kTiles; ++r) {
        const int at = first_tile + r < last_tile ? first_tile + r : last_tile;
        products[k][r].Read(t, weight,
                            weight.Tile(at, static_cast<int>(tile) + k));
      }
      BANYAN_UNROLL for (int g = 0; g < kGroups; ++g) {
        const int at =
            first_group + g < last_group ? first_group + g : last_group;
        rows[k][g] = Product::RowsOf(t, packed, x, at, tile + k);
      }
    }
    BANYAN_UNROLL for (int k = 0; k < kNow; ++k) {
      BANYAN_UNROLL for (int g = 0; g < kGroups; ++g) {
        BANYAN_UNROLL for (int r = 0; r < kTiles; ++r) products[k][r].AddTo(
            t, rows[k][g], sums[r][g]);
      }
    }
  }

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int row_tiles = (weight.rows + 15) / 16;
    const int across = (row_tiles + kTiles - 1) / kTiles;
    const int first_tile = t.block() % across * kTiles;
    const int first_group = t.block() / across * kGroups;
    Sums sums = {};
    const std::int64_t last = FirstTile(t.warp() + 1, packed.tiles);
    std::int64_t tile = FirstTile(t.warp(), packed.tiles);
    BANYAN_ROLL for (; tile + kAhead <= last; tile += kAhead)
        Add<kAhead>(t, first_tile, first_group, tile, sums);
    BANYAN_ROLL for (; tile < last; ++tile)
        Add<1>(t, first_tile, first_group, tile, sums);
    // By split, then by group of rows of x, as fragments.
    const Shared<float> shared =
        t.SharedArray<float>(0, kSplits * kGroups * 128);
    BANYAN_UNROLL for (int r = 0; r < kTiles; ++r) {
      if (r > 0) t.Sync();  // the last tile's sums have been read
      BANYAN_UNROLL for (int g = 0; g < kGroups; ++g)
          shared.template WritePack<4>(
              (t.warp() * kGroups + g) * 128 + t.lane() * 4,
              {{sums[r][g][0], sums[r][g][1], sums[r][g][2], sums[r][g][3]}});
      t.Sync();
      for (int at = t.index(); at < kGroups * 128; at += kThreads) {
        float sum = shared.Read(at);
        for (int split = 1; split < kSplits; ++split)
          sum += shared.Read(split * kGroups * 128 + at);
        const int lane = at % 128 / 4;
        const int i = at % 4;
        to.Write((first_group + at / 128) * 8 + lane % 4 * 2 + i % 2,
                 (first_tile + r) * 16 + lane / 4 + i / 2 * 8, sum);
      }
    }
  }
};

// A block has 16 rows of the weight and 8 of x.
struct LinearF32Kernel {
  static constexpr const char* kName = "linear_f32";
  static constexpr int kRows = 8;
  WeightReader weight;
  Matrix<const float> x;
  Destination to;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    constexpr int kParts = kSplits * 2;
    const int row_tiles = (weight.rows + 15) / 16;
    const int row_tile = t.block() % row_tiles;
    const int first_row = t.block() / row_tiles * kRows;
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
      to.Write(first_row + at / 16, row_tile * 16 + at % 16, sum);
    }
  }
};

template <typename Product, int kGroups, int kTiles>
void Multiply(CudaDevice& device, const LinearLaunch& launch) {
  const Packed packed = PackedOf(launch);
  const auto chunks = static_cast<int>((packed.groups + kGroups - 1) / kGroups);
  constexpr int kRows = kTiles * 16;
  Launch(device,
         {.blocks = (launch.weight.rows + kRows - 1) / kRows * chunks,
          .threads = kThreads,
          .shared_bytes =
              kSplits * kGroups * 128 * static_cast<int>(sizeof(float))},
         LinearKernel<Product, kGroups, kTiles>{
             {device, launch.weight},
             packed,
             {device, launch.scratch},
             {{device, launch.bias}, {device, launch.y}, launch.add}});
}

// Many rows of x are read again for every block: so blocks have more rows of
// the weight, as long as there are enough of them.
constexpr int kEnoughBlocks = 128;

template <typename Product, int kGroups>
void MultiplyTiles(CudaDevice& device, const LinearLaunch& launch) {
  const int blocks = launch.weight.rows / 16;
  if (blocks >= 4 * kEnoughBlocks)
    return Multiply<Product, kGroups, 4>(device, launch);
  if (blocks >= 2 * kEnoughBlocks)
    return Multiply<Product, kGroups, 2>(device, launch);
  return Multiply<Product, kGroups, 1>(device, launch);
}

template <typename Product>
void MultiplyGroups(CudaDevice& device, const LinearLaunch& launch) {
  const std::int64_t groups = PackedOf(launch).groups;
  if (groups == 1) return Multiply<Product, 1, 1>(device, launch);
  if (groups == 2) return Multiply<Product, 2, 1>(device, launch);
  if (groups <= 4) return MultiplyTiles<Product, 4>(device, launch);
  return MultiplyTiles<Product, 8>(device, launch);
}

}  // namespace

std::size_t LinearScratch(const LinearLaunch& launch) {
  if (launch.weight.format == WeightFormat::kF32) return 0;
  const Packed packed = PackedOf(launch);
  const auto tiles = static_cast<std::size_t>(packed.groups * packed.tiles);
  return tiles * (launch.weight.format == WeightFormat::kQ8 ? 72 : 64) *
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
           LinearF32Kernel{
               {device, launch.weight},
               {device, launch.x},
               {{device, launch.bias}, {device, launch.y}, launch.add}});
    return;
  }
  if (launch.weight.format == WeightFormat::kBf16) {
    PackRows<Bf16Packer>(device, launch);
    MultiplyGroups<Bf16Product>(device, launch);
  } else {
    PackRows<Q8Packer>(device, launch);
    MultiplyGroups<Q8Product>(device, launch);
  }
}

}  // namespace banyan::BANYAN_MAKER
