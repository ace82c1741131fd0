// Views of buffers that the ops read and write.
#ifndef BANYAN_CORE_OPS_TENSOR_H_
#define BANYAN_CORE_OPS_TENSOR_H_

#include <cstddef>

#include "core/device/buffer.h"

namespace banyan {

// Rows of activations are stored a multiple of kLane numbers apart. What lies
// between a row's last column and the next row may be anything.
inline constexpr int kLane = 16;

constexpr int PadToLane(int columns) {
  return (columns + kLane - 1) / kLane * kLane;
}

// A matrix of 32-bit floats: row r starts at number offset + r * stride.
struct Tensor {
  Buffer* buffer = nullptr;
  std::size_t offset = 0;
  int rows = 0;
  int columns = 0;
  std::size_t stride = 0;

  bool empty() const { return buffer == nullptr; }
  Tensor Rows(int first, int count) const {
    return {buffer, offset + static_cast<std::size_t>(first) * stride, count,
            columns, stride};
  }
  Tensor Columns(int first, int count) const {
    return {buffer, offset + static_cast<std::size_t>(first), rows, count,
            stride};
  }
};

// A list of 32-bit integers.
struct Ints {
  Buffer* buffer = nullptr;
  std::size_t offset = 0;
  int size = 0;
};

// A number that the device alone knows when work is asked for, so that work may
// be recorded once (Backend::Record) and done again with another number.
struct Live {
  Ints at;       // holds it, alone
  int most = 0;  // it is never more

  bool empty() const { return at.buffer == nullptr; }
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_TENSOR_H_
