// Rows of activations that a product reads as numbers, with their norm if they
// have one, of which the sums of squares are there already.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_NUMBER_ROWS_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_NUMBER_ROWS_H_

#include "core/device/cuda/kernel.h"
#include "core/device/cuda/pack.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/normed_rows.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {

struct NumberRows {
  NumberRows(CudaDevice& device, const LinearLaunch& launch)
      : x(device, launch.x),
        aligned(launch.x.offset % 4 == 0 && launch.x.stride % 4 == 0) {
    if (launch.norm == nullptr) return;
    weight = {device, launch.norm->weight};
    squares = {device, launch.norm->squares};
    epsilon = launch.norm->epsilon;
  }

  // Computes the norm's scale of kGroups * 8 rows from `first` on: scales[g]
  // becomes that of row first + 8 g + lane / 4. All threads of a block of eight
  // warps call it; `shared` holds kGroups * 8 numbers.
  template <int kGroups>
  BANYAN_DEVICE void ReadScales(const Thread& t, int first,
                                const Shared<float>& shared,
                                float (&scales)[kGroups]) const {
    if (weight.empty()) return;
    for (int i = t.warp(); i < kGroups * 8; i += 8) {
      if (first + i >= x.rows) break;
      const float scale = ScaleOf(
          SumOfSquares(t, SquaresColumns(x.columns),
                       [&](int part) { return squares.Read(first + i, part); }),
          x.columns, epsilon);
      if (t.lane() == 0) shared.Write(i, scale);
    }
    t.Sync();
    BANYAN_UNROLL for (int g = 0; g < kGroups; ++g) {
      const int i = g * 8 + t.lane() / 4;
      if (first + i < x.rows) scales[g] = shared.Read(i);
    }
  }

  // Asks for a lane's 4 kPacks numbers of a row, from `column` on, which
  // Read() then takes out of the ring.
  template <int kPacks>
  BANYAN_DEVICE void Ask(const Thread& t, const Shared<float>& ring, int at,
                         int row, int column) const {
    if (row >= x.rows) return;
    BANYAN_UNROLL for (int p = 0; p < kPacks; ++p) {
      if (AtOnce(column + p * 4))
        ring.CopyAhead(at + PlaceOfPack(t, p), x.numbers,
                       x.At(row, column + p * 4));
    }
  }
  // Zeros where there are none. `scale` is that of the row.
  template <int kPacks>
  BANYAN_DEVICE void Read(const Thread& t, const Shared<float>& ring, int at,
                          int row, int column, float scale,
                          float (&numbers)[kPacks * 4]) const {
    BANYAN_UNROLL for (int p = 0; p < kPacks; ++p) {
      const int first = column + p * 4;
      Pack<float, 4> pack = {};
      if (row < x.rows && AtOnce(first)) {
        pack = ring.template ReadPack<4>(at + PlaceOfPack(t, p));
      } else if (row < x.rows) {
        BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
          if (first + i < x.columns) pack.at[i] = x.Read(row, first + i);
        }
      }
      BANYAN_UNROLL for (int i = 0; i < 4; ++i) numbers[p * 4 + i] =
          Normed(row, first + i, scale, pack.at[i]);
    }
  }
  BANYAN_DEVICE float Value(int row, int column, float scale) const {
    const bool there = row < x.rows && column < x.columns;
    return there ? Normed(row, column, scale, x.Read(row, column)) : 0;
  }

 private:
  // Whether four numbers from `column` on are read at once.
  BANYAN_DEVICE bool AtOnce(int column) const {
    return aligned && column + 4 <= x.columns;
  }
  BANYAN_DEVICE static int PlaceOfPack(const Thread& t, int pack) {
    return pack * 128 + t.lane() * 4;
  }
  BANYAN_DEVICE float Normed(int row, int column, float scale,
                             float number) const {
    if (weight.empty() || row >= x.rows || column >= x.columns) return number;
    return number * scale * weight.Read(0, column);
  }

  Matrix<const float> x;
  bool aligned;
  Matrix<const float> weight;   // of the norm; empty: there is none
  Matrix<const float> squares;  // of x
  float epsilon = 0;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_NUMBER_ROWS_H_
