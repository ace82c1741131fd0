// Linear: a weight streamed once past all rows of activations.
//
// Two launches. The first packs the activations as fragments: as bfloat16s, or
// for q8 as the contract's quants with a scale for each block. They are a
// matrix's rows, or made on the way of what comes before a product. The second
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
#include "core/ops/cuda/attended.h"
#include "core/ops/cuda/fragments.h"
#include "core/ops/cuda/launches.h"
#include "core/ops/cuda/matrix.h"
#include "core/ops/cuda/normed_rows.h"
#include "core/ops/cuda/numbers.h"
#include "core/ops/cuda/op_kernels.h"
#include "core/ops/cuda/weight_reader.h"
#include "core/ops/linear.h"

namespace banyan::BANYAN_MAKER {
namespace {

constexpr int kSplits = 8;
constexpr int kThreads = kSplits * 32;

// Packed activations: for each 8 rows and each tile of columns a word pair for
// each lane; of q8 also a scale for each row and tile, after all of those.
struct Packed {
  std::int64_t tiles;
  std::int64_t groups;  // of 8 rows
  int rows;             // the others are 0, and not read

  BANYAN_DEVICE std::int64_t Pair(int group, std::int64_t tile,
                                  int lane) const {
    return ((group * tiles + tile) * 32 + lane) * 2;
  }
  // What a lane has of 8 rows' tile.
  BANYAN_DEVICE Pack<std::uint32_t, 2> Read(
      const Global<const std::uint32_t>& x, int group, std::int64_t tile,
      int lane) const {
    if (group * 8 + lane / 4 >= rows) return {{0, 0}};
    return x.template ReadPack<2>(Pair(group, tile, lane));
  }
  BANYAN_DEVICE std::int64_t Scale(int group, std::int64_t tile,
                                   int row) const {
    return groups * tiles * 64 + (group * tiles + tile) * 8 + row;
  }
};

// How a row's numbers in one tile become words: by four lanes that follow each
// other, `place` of them; all of a warp come along.
struct Bf16Packer {
  static constexpr const char* kName = "pack_bf16";

  template <typename Value>
  BANYAN_DEVICE static void Put(const Thread& /*t*/, const Packed& packed,
                                const Global<std::uint32_t>& words, bool there,
                                int row, std::int64_t tile, int place,
                                const Value& value) {
    Pack<std::uint32_t, 2> pair;
    BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
      const int column = static_cast<int>(tile) * 16 + half * 8 + place * 2;
      pair.at[half] = ToBf16(value(column)) | ToBf16(value(column + 1)) << 16;
    }
    if (there)
      words.template WritePack<2>(
          packed.Pair(row / 8, tile, row % 8 * 4 + place), pair);
  }
};

struct Q8Packer {
  static constexpr const char* kName = "pack_q8";

  template <typename Value>
  BANYAN_DEVICE static void Put(const Thread& t, const Packed& packed,
                                const Global<std::uint32_t>& words, bool there,
                                int row, std::int64_t tile, int place,
                                const Value& value) {
    float numbers[8];
    float largest = 0;
    bool finite = true;
    BANYAN_UNROLL for (int i = 0; i < 8; ++i) {
      numbers[i] =
          value(static_cast<int>(tile) * 32 + i / 4 * 16 + place * 4 + i % 4);
      const float magnitude = fabsf(numbers[i]);
      finite = finite && IsFinite(magnitude);
      largest = fmaxf(largest, magnitude);
    }
    for (int lanes = 1; lanes < 4; lanes *= 2)
      largest = fmaxf(largest, t.ShuffleXor(largest, lanes));
    const std::uint32_t wrong = t.Ballot(!finite);
    finite = (wrong >> (t.lane() / 4 * 4) & 0xfU) == 0;
    const float inverse =
        finite && largest >= kQ8Least ? 127.0F / largest : 0.0F;
    Pack<std::uint32_t, 2> pair;
    BANYAN_UNROLL for (int half = 0; half < 2; ++half) {
      pair.at[half] = 0;
      BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
        if (finite)
          pair.at[half] |=
              (static_cast<std::uint32_t>(static_cast<std::int32_t>(
                   rintf(numbers[half * 4 + i] * inverse))) &
               0xffU)
              << (8 * i);
      }
    }
    if (!there) return;
    words.template WritePack<2>(packed.Pair(row / 8, tile, row % 8 * 4 + place),
                                pair);
    // What is not finite makes the scale, and so the row, NaN.
    if (place == 0)
      words.Write(
          packed.Scale(row / 8, tile, row % 8),
          std::bit_cast<std::uint32_t>(finite ? largest / 127.0F : nanf("")));
  }
};

// Where the rows' numbers come from.
struct OfMatrix {
  OfMatrix(CudaDevice& device, const LinearLaunch& launch)
      : x(device, launch.x) {}
  BANYAN_DEVICE float Value(int row, int column) const {
    return x.Read(row, column);
  }
  Matrix<const float> x;
};

struct OfActivation {
  OfActivation(CudaDevice& device, const LinearLaunch& launch)
      : gelu(launch.activate->gelu),
        x(device, launch.activate->x),
        up(device, launch.activate->up) {}
  BANYAN_DEVICE float Value(int row, int column) const {
    const float value = Activated(gelu, x.Read(row, column));
    return up.empty() ? value : value * up.Read(row, column);
  }
  bool gelu;
  Matrix<const float> x;
  Matrix<const float> up;
};

struct OfAttention {
  OfAttention(CudaDevice& device, const LinearLaunch& launch)
      : attended(device, *launch.attention) {}
  BANYAN_DEVICE float Value(int row, int column) const {
    return attended.Value(row, column);
  }
  Attended attended;
};

// A warp a tile of 8 rows.
template <typename Packer, typename Source>
struct PackKernel {
  static constexpr const char* kName = Packer::kName;
  Source source;
  int rows;
  int columns;
  Packed packed;
  Global<std::uint32_t> words;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const std::int64_t item = std::int64_t{t.block()} * kSplits + t.warp();
    if (item >= packed.groups * packed.tiles) return;
    const int row = static_cast<int>(item / packed.tiles) * 8 + t.lane() / 4;
    Packer::Put(t, packed, words, true, row, item % packed.tiles, t.lane() % 4,
                [&](int column) {
                  return row < rows && column < columns
                             ? source.Value(row, column)
                             : 0.0F;
                });
  }
};

// A block a row, those that only fill up the last 8 included.
template <typename Packer>
struct PackNormedKernel {
  static constexpr const char* kName = Packer::kName;
  NormedRows source;
  Packed packed;
  Global<std::uint32_t> words;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int row = t.block();
    const bool there = row < source.x.rows;
    NormedRows::Size size;
    if (there) size = source.SizeOf(t, row);
    for (std::int64_t first = 0; first < packed.tiles;
         first += kNormThreads / 4) {
      const std::int64_t tile = first + t.index() / 4;
      Packer::Put(t, packed, words, tile < packed.tiles, row, tile,
                  t.lane() % 4, [&](int column) {
                    return there && column < source.x.columns
                               ? source.Value(size, row, column)
                               : 0.0F;
                  });
    }
  }
};

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
  WeightReader weight;
  Packed packed;
  Global<const std::uint32_t> x;
  Destination to;

  BANYAN_DEVICE void operator()(const Thread& t) const {
    const int row_tiles = (weight.rows + 15) / 16;
    const int across = (row_tiles + kTiles - 1) / kTiles;
    const int first_tile = t.block() % across * kTiles;
    const int first_group = t.block() / across * kGroups;
    std::array<float, 4> sums[kTiles][kGroups] = {};
    const std::int64_t last = FirstTile(t.warp() + 1, packed.tiles);
    for (std::int64_t tile = FirstTile(t.warp(), packed.tiles); tile < last;
         ++tile) {
      Product products[kTiles] = {};
      BANYAN_UNROLL for (int r = 0; r < kTiles; ++r) {
        if (first_tile + r < row_tiles)
          products[r].Read(t, weight,
                           weight.Tile(first_tile + r, static_cast<int>(tile)));
      }
      BANYAN_UNROLL for (int g = 0; g < kGroups; ++g) {
        if (first_group + g >= packed.groups) continue;
        const typename Product::Rows rows =
            Product::RowsOf(t, packed, x, first_group + g, tile);
        BANYAN_UNROLL for (int r = 0; r < kTiles; ++r) {
          if (first_tile + r < row_tiles)
            products[r].AddTo(t, rows, sums[r][g]);
        }
      }
    }
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

Packed PackedOf(const LinearLaunch& launch) {
  const int width = launch.weight.format == WeightFormat::kQ8 ? 32 : 16;
  return {(launch.x.columns + width - 1) / width, (launch.x.rows + 7) / 8,
          launch.x.rows};
}

template <typename Packer, typename Source>
void PackFrom(CudaDevice& device, const LinearLaunch& launch) {
  const Packed packed = PackedOf(launch);
  Launch(device,
         {.blocks = static_cast<int>(
              (packed.groups * packed.tiles + kSplits - 1) / kSplits),
          .threads = kThreads},
         PackKernel<Packer, Source>{{device, launch},
                                    launch.x.rows,
                                    launch.x.columns,
                                    packed,
                                    {device, launch.scratch}});
}

template <typename Packer>
void PackRows(CudaDevice& device, const LinearLaunch& launch) {
  switch (launch.source) {
    case LinearSource::kMatrix:
      return PackFrom<Packer, OfMatrix>(device, launch);
    case LinearSource::kActivate:
      return PackFrom<Packer, OfActivation>(device, launch);
    case LinearSource::kAttention:
      return PackFrom<Packer, OfAttention>(device, launch);
    case LinearSource::kNorm:
      break;
  }
  const Packed packed = PackedOf(launch);
  Launch(device,
         {.blocks = static_cast<int>(packed.groups) * 8,
          .threads = kNormThreads,
          .shared_bytes = kNormSharedBytes},
         PackNormedKernel<Packer>{
             {device, *launch.norm}, packed, {device, launch.scratch}});
}

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
