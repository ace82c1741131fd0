// What a product does with its sums: it stores them, or does at once what
// follows (LinearOutput): an activation, or the rotation of queries and keys
// and the storing of keys and values.
//
// Sums come four at a time, of one row of x: those of rows r, r + 1, r + 8 and
// r + 9 of a tile of the weight, r even. So whoever has them has two pairs of
// rows that are wanted together (RowOrder), or two neighbours twice.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_PRODUCT_END_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_PRODUCT_END_H_

#include <cmath>

#include "core/device/cuda/kernel.h"
#include "core/ops/cuda/device/fragments.h"
#include "core/ops/cuda/device/matrix.h"
#include "core/ops/cuda/device/numbers.h"
#include "core/ops/cuda/device/stored_rows.h"
#include "core/ops/cuda/kernels/op_kernels.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {

struct ProductEnd {
  ProductEnd(CudaDevice& device, const LinearLaunch& launch)
      : order({launch.weight.rows, launch.weight.pairs.pairs,
               launch.weight.pairs.distance}),
        bias(device, launch.bias),
        y(device, launch.y),
        add(launch.add),
        squares(device, launch.squares) {
    if (launch.activate != nullptr) {
      end = End::kActivate;
      gelu = launch.activate->function == Nonlinearity::kGeluTanh;
      y = {device, launch.activate->y};
    }
    if (launch.store != nullptr) {
      end = End::kStore;
      angles = {device, launch.store->queries.angles};
      y = {device, launch.store->queries.x};
      scale = launch.store->queries.scale;
      store = {device, launch.store->sequences};
    }
  }

  // Replaces the sums by what became of them, where it is y.
  BANYAN_DEVICE void Write(int row, int tile, int r, float (&sums)[4]) const {
    if (row >= y.rows) return;
    switch (end) {
      case End::kRows:
        return WriteRows(row, tile, r, sums);
      case End::kActivate:
        return WriteActivated(row, tile, r, sums);
      case End::kStore:
        return order.pairs > tile * 8 ? WriteTurned(row, tile * 8 + r, sums)
                                      : WriteStored(row, tile, r, sums);
    }
  }

  BANYAN_DEVICE static int InTile(int r, int i) {
    return r + i % 2 + i / 2 * 8;
  }
  BANYAN_DEVICE float Biased(int weight_row, float sum) const {
    return bias.empty() ? sum : sum + bias.Read(0, weight_row);
  }

  BANYAN_DEVICE void WriteRows(int row, int tile, int r,
                               float (&sums)[4]) const {
    BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
      const int column = order.Row(tile * 16 + InTile(r, i));
      if (column < 0 || column >= y.columns) continue;
      sums[i] = Biased(column, sums[i]);
      if (add) sums[i] += y.Read(row, column);
      y.Write(row, column, sums[i]);
    }
  }

  BANYAN_DEVICE void WriteActivated(int row, int tile, int r,
                                    float (&sums)[4]) const {
    if (order.pairs == 0) {
      BANYAN_UNROLL for (int i = 0; i < 4; ++i) {
        const int column = tile * 16 + InTile(r, i);
        if (column < y.columns)
          y.Write(row, column, Activated(gelu, Biased(column, sums[i])));
      }
      return;
    }
    BANYAN_UNROLL for (int i = 0; i < 2; ++i) {
      const int column = tile * 8 + r + i;
      if (column >= order.pairs) continue;
      const float gate = Activated(gelu, Biased(column, sums[i]));
      y.Write(row, column, gate * Biased(column + order.distance, sums[i + 2]));
    }
  }

  // Pairs `pair` and the next one of queries or keys.
  BANYAN_DEVICE void WriteTurned(int row, int pair, float (&sums)[4]) const {
    if (pair >= order.pairs) return;
    const int half = order.distance;
    const int column = order.Low(pair);
    const int i = column % (2 * half);
    float a[2];
    float b[2];
    const float by = column < y.columns ? scale : 1.0F;
    BANYAN_UNROLL for (int k = 0; k < 2; ++k) {
      const float low = Biased(column + k, sums[k]);
      const float high = Biased(column + half + k, sums[k + 2]);
      const float cosine = angles.Read(row, i + k);
      const float sine = angles.Read(row, half + i + k);
      a[k] = fmaf(low, cosine, -(high * sine)) * by;
      b[k] = fmaf(high, cosine, low * sine) * by;
    }
    if (column < y.columns) {
      BANYAN_UNROLL for (int k = 0; k < 2; ++k) {
        y.Write(row, column + k, a[k]);
        y.Write(row, column + half + k, b[k]);
      }
      return;
    }
    const StoredRows::Place to =
        store.At(row, (column - y.columns) / (2 * half));
    to.cache.keys.Write(to.word + i / 2, Bf16Pair(a[0], a[1]));
    to.cache.keys.Write(to.word + (half + i) / 2, Bf16Pair(b[0], b[1]));
  }

  // Values, and queries and keys that do not turn.
  BANYAN_DEVICE void WriteStored(int row, int tile, int r,
                                 float (&sums)[4]) const {
    BANYAN_UNROLL for (int i = 0; i < 4; i += 2) {
      int column = order.Row(tile * 16 + InTile(r, i));
      if (column >= order.rows) continue;
      const float low = Biased(column, sums[i]);
      const float high = Biased(column + 1, sums[i + 1]);
      if (column < y.columns) {
        y.Write(row, column, low * scale);
        y.Write(row, column + 1, high * scale);
        continue;
      }
      column -= y.columns;
      const int keys = store.kv_heads() * store.head_dim();
      const bool is_key = column < keys;
      if (!is_key) column -= keys;
      const StoredRows::Place to = store.At(row, column / store.head_dim());
      const std::int64_t word = to.word + column % store.head_dim() / 2;
      (is_key ? to.cache.keys : to.cache.values)
          .Write(word, Bf16Pair(low, high));
    }
  }

  enum class End { kRows, kActivate, kStore };
  End end = End::kRows;
  RowOrder order;
  Matrix<const float> bias;
  Matrix<float> y;  // or where activations or queries go
  bool add = false;
  Matrix<float> squares;  // of y; empty: nobody wants them
  bool gelu = false;
  Matrix<const float> angles;
  float scale = 1;  // of queries
  StoredRows store;
};

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_PRODUCT_END_H_
