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
    aligned = aligned && launch.norm->weight.offset % 4 == 0;
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

  // Asks for the 16 kPacks numbers of eight rows, from `column` on, that lanes
  // then read: four lanes that follow each other have a row, and kPacks packs
  // of 4 numbers each, the first lane the first ones. What four lanes ask for
  // at once stands beside each other.
  template <int kPacks>
  BANYAN_DEVICE void Ask(const Thread& t, const Shared<float>& ring, int at,
                         int first_row, int column) const {
    const int row = first_row + t.lane() / 4;
    if (row >= x.rows) return;
    BANYAN_UNROLL for (int p = 0; p < kPacks; ++p) {
      const int pack = p * 4 + t.lane() % 4;  // of the row's
      if (AtOnce(column + pack * 4))
        ring.CopyAhead(
            at + PlaceOfPack(t.lane() / 4 * 4 + pack / kPacks, pack % kPacks),
            x.numbers, x.At(row, column + pack * 4));
    }
  }
  // A lane's own, zeros where there are none. `scale` is that of its row.
  template <int kPacks>
  BANYAN_DEVICE void Read(const Thread& t, const Shared<float>& ring, int at,
                          int first_row, int column, float scale,
                          float (&numbers)[kPacks * 4]) const {
    Take<kPacks>(
        first_row + t.lane() / 4, column + t.lane() % 4 * kPacks * 4, scale,
        numbers, [&](int p) {
          return ring.template ReadPack<4>(at + PlaceOfPack(t.lane(), p));
        });
  }
  // The same out of the device's memory.
  template <int kPacks>
  BANYAN_DEVICE void Load(const Thread& t, int first_row, int column,
                          float scale, float (&numbers)[kPacks * 4]) const {
    const int row = first_row + t.lane() / 4;
    const int first = column + t.lane() % 4 * kPacks * 4;
    Take<kPacks>(row, first, scale, numbers, [&](int p) {
      return x.numbers.template ReadPack<4>(x.At(row, first + p * 4));
    });
  }

 private:
  // Whether four numbers from `column` on are read at once.
  BANYAN_DEVICE bool AtOnce(int column) const {
    return aligned && column + 4 <= x.columns;
  }
  // `pack_of(p)` is a pack that is read at once.
  template <int kPacks, typename PackOf>
  BANYAN_DEVICE void Take(int row, int column, float scale,
                          float (&numbers)[kPacks * 4],
                          const PackOf& pack_of) const {
    BANYAN_UNROLL for (int p = 0; p < kPacks; ++p) {
      const int first = column + p * 4;
      Pack<float, 4> pack = {};
      Pack<float, 4> by = {};
      if (row < x.rows && AtOnce(first)) {
        pack = pack_of(p);
        if (!weight.empty())
          by = weight.numbers.template ReadPack<4>(weight.At(0, first));
      } else if (row < x.rows) {
        BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
          if (first + i >= x.columns) break;
          pack.at[i] = x.Read(row, first + i);
          if (!weight.empty()) by.at[i] = weight.Read(0, first + i);
        }
      }
      BANYAN_UNROLL for (int i = 0; i < 4; ++i) numbers[p * 4 + i] =
          weight.empty() ? pack.at[i] : pack.at[i] * scale * by.at[i];
    }
  }
  // Of a lane's, in a ring.
  BANYAN_DEVICE static int PlaceOfPack(int lane, int pack) {
    return pack * 128 + lane * 4;
  }

  Matrix<const float> x;
  bool aligned;
  Matrix<const float> weight;   // of the norm; empty: there is none
  Matrix<const float> squares;  // of x
  float epsilon = 0;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_NUMBER_ROWS_H_
