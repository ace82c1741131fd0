// MatrixProduct: what a device's library multiplies, where it may choose how.
#ifndef BANYAN_CORE_DEVICE_CUDA_MATRIX_PRODUCT_H_
#define BANYAN_CORE_DEVICE_CUDA_MATRIX_PRODUCT_H_

#include <cstdint>

#include "core/device/cuda/span.h"

namespace banyan {

// y[i][j] = sum over k of x[i][k] weight[j][k], or y[i][j] += it where `add`.
// Of x and the weight rows of bfloat16s, of y rows of floats; rows begin so
// many numbers after each other. Sums are in float, in no promised order.
struct MatrixProduct {
  DeviceSpan x;
  std::int64_t x_stride = 0;
  DeviceSpan weight;
  std::int64_t weight_stride = 0;
  DeviceSpan y;
  std::int64_t y_stride = 0;
  int rows = 0;     // of x and y
  int columns = 0;  // of x and the weight
  int outputs = 0;  // rows of the weight, columns of y
  bool add = false;
};

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_MATRIX_PRODUCT_H_
