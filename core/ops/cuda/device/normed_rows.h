// Rows brought to a standard size.
//
// A row's squares are added 16 neighbours after each other, from the first on
// (SquaresOf); then lane i of a warp adds every 32nd of these sums, i first,
// and the lanes add theirs by halves (SumOfSquares). A mean is added by a block
// as BlockSum does.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_NORMED_ROWS_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_NORMED_ROWS_H_

#include <cmath>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {

constexpr int kNormThreads = 256;

// The sum of squares of 16 neighbours, or of those there are.
template <typename Value>
BANYAN_DEVICE float SquaresOf(int tile, int columns, const Value& value) {
  float squares = 0;
  const int first = tile * kSquaresWidth;
  BANYAN_UNROLL for (int i = 0; i < kSquaresWidth; ++i) {
    if (first + i >= columns) break;
    const float number = value(first + i);
    squares = fmaf(number, number, squares);
  }
  return squares;
}

// By all lanes of a warp, for every one of them. `part(i)` is sum i of `parts`.
template <typename Part>
BANYAN_DEVICE float SumOfSquares(const Thread& t, int parts, const Part& part) {
  float sum = 0;
  for (int i = t.lane(); i < parts; i += 32) sum += part(i);
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += t.ShuffleXor(sum, lanes);
  return sum;
}

// What a row of `columns` numbers is multiplied by.
BANYAN_DEVICE float ScaleOf(float squares, int columns, float epsilon) {
  squares /= static_cast<float>(columns);
  // Of an infinite sum the quotient would be 0.
  return IsFinite(squares) ? 1.0F / sqrtf(squares + epsilon)
                           : squares - squares;
}

// A block a row.
struct NormedRows {
  NormedRows(CudaDevice& device, const NormArgs& args)
      : x(device, args.x),
        weight(device, args.weight),
        bias(device, args.bias),
        epsilon(args.epsilon),
        center(args.center) {}

  // Of the block's memory.
  static int SharedBytes(const NormArgs& args) {
    return (kNormThreads / 32 + SquaresColumns(args.x.columns)) *
           static_cast<int>(sizeof(float));
  }

  struct Size {
    float mean = 0;
    float scale = 0;
  };

  // By all threads of a block.
  BANYAN_DEVICE Size SizeOf(const Thread& t, int row) const {
    Size size;
    if (center) {
      float sum = 0;
      for (int i = t.index(); i < x.columns; i += kNormThreads)
        sum += x.Read(row, i);
      size.mean = BlockSum(t, t.SharedArray<float>(0, kNormThreads / 32), sum) /
                  static_cast<float>(x.columns);
    }
    const int tiles = SquaresColumns(x.columns);
    const Shared<float> parts =
        t.SharedArray<float>(kNormThreads / 32 * 4, tiles);
    for (int tile = t.index(); tile < tiles; tile += kNormThreads)
      parts.Write(tile, SquaresOf(tile, x.columns, [&](int column) {
                    return x.Read(row, column) - size.mean;
                  }));
    t.Sync();
    size.scale =
        ScaleOf(SumOfSquares(t, tiles, [&](int i) { return parts.Read(i); }),
                x.columns, epsilon);
    return size;
  }
  BANYAN_DEVICE float Value(const Size& size, int row, int column) const {
    float value =
        (x.Read(row, column) - size.mean) * size.scale * weight.Read(0, column);
    if (!bias.empty()) value += bias.Read(0, column);
    return value;
  }

  Matrix<const float> x;
  Matrix<const float> weight;
  Matrix<const float> bias;
  float epsilon;
  bool center;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_NORMED_ROWS_H_
