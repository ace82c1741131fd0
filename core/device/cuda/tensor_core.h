// The sums of tensor cores, to the bit.
//
// A tensor core adds products of bfloat16s to a float in one step. Each term,
// the float among them, is cut at some bits below the exponent of the largest
// term, the terms are added without rounding, and the sum is cut to a float. A
// product has the sum of its factors' exponents, though it may be twice as
// large; one with a zero has none. Numbers below the normal ones keep their
// value.
#ifndef BANYAN_CORE_DEVICE_CUDA_TENSOR_CORE_H_
#define BANYAN_CORE_DEVICE_CUDA_TENSOR_CORE_H_

#include <array>
#include <cstdint>

#include "core/base/common.h"

namespace banyan {

// How the tensor cores of a capability add.
struct TensorCore {
  int products =
      16;         // in one step; the 16 of an instruction take 16 / products
  int bits = 25;  // that a term keeps below the largest exponent
};

// Of a compute capability of ten times its major number and its minor one: 90.
// InvalidArgument for one whose tensor cores are not known.
absl::StatusOr<TensorCore> TensorCoreOf(int capability);

// Sixteen bfloat16s.
using TensorTerms = std::array<std::uint16_t, 16>;

// Adds the products of a's rows and b's columns to c, which is 16 by 8, as one
// instruction does: c[row][column] += a[row] . b[column]. Not a number is
// 0x7fffffff, a sum of zeros is +0, and 2^128 or more is infinite.
void MultiplyInTensorCore(const TensorCore& core,
                          const std::array<TensorTerms, 16>& a,
                          const std::array<TensorTerms, 8>& b,
                          std::array<std::array<float, 8>, 16>& c);

}  // namespace banyan

#endif  // BANYAN_CORE_DEVICE_CUDA_TENSOR_CORE_H_
