// Matrices and lists as kernels see them.
#ifndef BANYAN_CORE_OPS_CUDA_DEVICE_MATRIX_H_
#define BANYAN_CORE_OPS_CUDA_DEVICE_MATRIX_H_

#include <cstdint>

#include "core/device/cuda/kernel.h"
#include "core/device/cuda/span.h"
#include "core/ops/cuda/cuda_buffer.h"
#include "core/ops/op_args.h"

namespace banyan::BANYAN_MAKER {

template <typename T>
struct Matrix {
  Matrix() = default;
  Matrix(CudaDevice& device, const Tensor& x)
      : numbers(device, NumbersOf(x)),
        stride(static_cast<std::int64_t>(x.stride)),
        rows(x.empty() ? 0 : x.rows),
        columns(x.columns) {}

  BANYAN_DEVICE bool empty() const { return rows == 0; }
  BANYAN_DEVICE std::int64_t At(int row, int column) const {
    return row * stride + column;
  }
  BANYAN_DEVICE float Read(int row, int column) const {
    return numbers.Read(At(row, column));
  }
  BANYAN_DEVICE void Write(int row, int column, float value) const {
    numbers.Write(At(row, column), value);
  }

  Global<T> numbers;
  std::int64_t stride = 0;
  int rows = 0;
  int columns = 0;
};

// ForEach launches one thread for each of `things` things.
constexpr int kThreadsForEach = 256;

inline LaunchShape ForEach(std::int64_t things) {
  return {.blocks = static_cast<int>((things + kThreadsForEach - 1) /
                                     kThreadsForEach),
          .threads = kThreadsForEach};
}

BANYAN_DEVICE std::int64_t ThingOf(const Thread& t) {
  return std::int64_t{t.block()} * kThreadsForEach + t.index();
}

// The number of a matrix that is a thread's; its row may be past the last.
struct Place {
  int row;
  int column;
};

BANYAN_DEVICE Place PlaceOf(const Thread& t, int columns) {
  const std::int64_t i = ThingOf(t);
  return {static_cast<int>(i / columns), static_cast<int>(i % columns)};
}

inline LaunchShape ForEachNumber(const Tensor& x) {
  return ForEach(std::int64_t{x.rows} * x.columns);
}

// What stands in a Live number's place (core/ops/op_args.h); 0 without one.
BANYAN_DEVICE int LiveNumber(const Global<const std::int32_t>& at) {
  return at.size() == 0 ? 0 : at.Read(0);
}

// The sum of all threads' numbers, for every one of them: along lanes by
// halves, then warp after warp. `shared` has a number for each warp.
BANYAN_DEVICE float BlockSum(const Thread& t, const Shared<float>& shared,
                             float own) {
  for (int lanes = 16; lanes > 0; lanes /= 2) own += t.ShuffleXor(own, lanes);
  t.Sync();  // what was summed before has been read
  if (t.lane() == 0) shared.Write(t.warp(), own);
  t.Sync();
  float sum = 0;
  for (int warp = 0; warp < t.threads() / 32; ++warp) sum += shared.Read(warp);
  return sum;
}

}  // namespace banyan::BANYAN_MAKER

#endif  // BANYAN_CORE_OPS_CUDA_DEVICE_MATRIX_H_
