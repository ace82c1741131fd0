// Products of fragments by format: what a lane has of a tile of the weight and
// of 8 rows of x, how both come to a ring of the block's memory, and their
// product.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_PRODUCTS_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_PRODUCTS_H_

#include <array>
#include <bit>
#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/device/cuda/pack.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/normed_rows.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/device/packed_rows.h"
#include "core/ops/cuda/device/weight_reader.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {

// A warp's part of the block's memory, as words and as floats.
struct Ring {
  Shared<std::uint32_t> words;
  Shared<float> floats;
};

struct Bf16Product {
  static constexpr const char* kName = "linear_bf16";
  static constexpr bool kShared = false;    // a lane reads what it asked for
  static constexpr int kWeightWords = 128;  // of a tile, in a ring
  static constexpr int kRowsWords = 128;    // of 8 rows of a tile

  // Rows of x, as numbers.
  struct Source {
    Source(CudaDevice& device, const LinearLaunch& launch)
        : x(device, launch.x),
          aligned(launch.x.offset % 4 == 0 && launch.x.stride % 4 == 0) {
      if (launch.norm == nullptr) return;
      weight = {device, launch.norm->weight};
      squares = {device, launch.norm->squares};
      epsilon = launch.norm->epsilon;
    }
    BANYAN_DEVICE int rows() const { return x.rows; }
    // The scale of a row's norm, by all lanes of a warp.
    BANYAN_DEVICE float ScaleOfRow(const Thread& t, int row) const {
      return ScaleOf(SumOfSquares(t, SquaresColumns(x.columns),
                                  [&](int i) { return squares.Read(row, i); }),
                     x.columns, epsilon);
    }
    // Whether four numbers from `column` on are read at once.
    BANYAN_DEVICE bool AtOnce(int column) const {
      return aligned && column + 4 <= x.columns;
    }

    Matrix<const float> x;
    bool aligned;
    Matrix<const float> weight;   // of the norm; empty: there is none
    Matrix<const float> squares;  // of x
    float epsilon = 0;
  };
  struct Rows {
    std::uint32_t words[2];
  };

  Pack<std::uint32_t, 4> words;

  BANYAN_DEVICE static void AskWeight(const Thread& t, const Ring& ring, int at,
                                      const WeightReader& weight,
                                      std::int64_t first) {
    ring.words.CopyAhead(at + t.lane() * 4, weight.words, first + t.lane() * 4);
  }
  BANYAN_DEVICE void Read(const Thread& t, const Ring& ring, int at) {
    words = ring.words.template ReadPack<4>(at + t.lane() * 4);
  }
  BANYAN_DEVICE static void AskRows(const Thread& t, const Ring& ring, int at,
                                    const Source& of, int group, int tile) {
    const int row = group * 8 + t.lane() / 4;
    const int column = tile * 16 + t.lane() % 4 * 4;
    if (row < of.x.rows && of.AtOnce(column))
      ring.floats.CopyAhead(at + t.lane() * 4, of.x.numbers,
                            of.x.At(row, column));
  }
  // `scale` is that of the lane's row.
  BANYAN_DEVICE static Rows RowsOf(const Thread& t, const Ring& ring, int at,
                                   const Source& of, int group, int tile,
                                   float scale) {
    const int row = group * 8 + t.lane() / 4;
    const int column = tile * 16 + t.lane() % 4 * 4;
    if (row >= of.x.rows) return {};
    Pack<float, 4> numbers = {};
    if (of.AtOnce(column)) {
      numbers = ring.floats.template ReadPack<4>(at + t.lane() * 4);
    } else {
      BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
        if (column + i < of.x.columns)
          numbers.at[i] = of.x.Read(row, column + i);
      }
    }
    std::uint32_t halves[4];
    BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
      if (!of.weight.empty() && column + i < of.x.columns)
        numbers.at[i] = numbers.at[i] * scale * of.weight.Read(0, column + i);
      halves[i] = ToBf16(numbers.at[i]);
    }
    return {{halves[0] | halves[1] << 16, halves[2] | halves[3] << 16}};
  }
  BANYAN_DEVICE void AddTo(const Thread& t, const Rows& rows,
                           std::array<float, 4>& sums) const {
    t.Multiply({words.at[0], words.at[1], words.at[2], words.at[3]},
               {rows.words[0], rows.words[1]}, sums);
  }
};

struct Q8Product {
  static constexpr const char* kName = "linear_q8";
  static constexpr bool kShared = true;
  static constexpr int kWeightWords = 128 + 8;  // scales last
  static constexpr int kRowsWords = 64 + 8;

  // Rows that were packed.
  struct Source {
    Source(CudaDevice& device, const LinearLaunch& launch)
        : packed(PackedOf(launch)), words(device, launch.scratch) {}
    BANYAN_DEVICE int rows() const {
      return static_cast<int>(packed.groups) * 8;
    }
    BANYAN_DEVICE float ScaleOfRow(const Thread& /*t*/, int /*row*/) const {
      return 1;
    }

    Packed packed;
    Global<const std::uint32_t> words;
    Matrix<const float> weight;  // empty
  };
  struct Rows {
    Pack<std::uint32_t, 2> words;
    float scales[2];  // of the two rows that the lane has sums of
  };

  Pack<std::uint32_t, 4> words;
  float low;  // the scales of the lane's two rows
  float high;

  BANYAN_DEVICE static void AskWeight(const Thread& t, const Ring& ring, int at,
                                      const WeightReader& weight,
                                      std::int64_t first) {
    ring.words.CopyAhead(at + t.lane() * 4, weight.words, first + t.lane() * 4);
    if (t.lane() < 2)
      ring.words.CopyAhead(at + 128 + t.lane() * 4, weight.scales,
                           first / 128 * 8 + t.lane() * 4);
  }
  BANYAN_DEVICE void Read(const Thread& t, const Ring& ring, int at) {
    words = ring.words.template ReadPack<4>(at + t.lane() * 4);
    const std::uint32_t both = ring.words.Read(at + 128 + t.lane() / 4);
    low = FromBf16(both & 0xffffU);
    high = FromBf16(both >> 16);
  }
  BANYAN_DEVICE static void AskRows(const Thread& t, const Ring& ring, int at,
                                    const Source& of, int group, int tile) {
    if (group >= of.packed.groups) return;
    if (t.lane() < 16)
      ring.words.CopyAhead(at + t.lane() * 4, of.words,
                           of.packed.Pair(group, tile, t.lane() * 2));
    else if (t.lane() < 18)
      ring.words.CopyAhead(at + t.lane() * 4, of.words,
                           of.packed.Scale(group, tile, t.lane() * 4 - 64));
  }
  BANYAN_DEVICE static Rows RowsOf(const Thread& t, const Ring& ring, int at,
                                   const Source& of, int group, int /*tile*/,
                                   float /*scale*/) {
    if (group >= of.packed.groups) return {};
    const Pack<std::uint32_t, 2> scales =
        ring.words.template ReadPack<2>(at + 64 + t.lane() % 4 * 2);
    return {ring.words.template ReadPack<2>(at + t.lane() * 2),
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

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_PRODUCTS_H_
