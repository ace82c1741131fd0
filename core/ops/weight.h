// Weight: a matrix of a model, packed for one backend.
#ifndef BANYAN_CORE_OPS_WEIGHT_H_
#define BANYAN_CORE_OPS_WEIGHT_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace banyan {

// How a weight is kept in memory.
//
// kF32   32-bit floats.
// kBf16  Rounded to the nearest bfloat16, ties to even.
// kQ8    Blocks of 32 neighbours in a row: w = scale * q with q a whole number
//        in [-127, 127] and scale a bfloat16, the block's largest magnitude
//        over 127, rounded up. A product with kQ8 also quantises the
//        activations (linear.h).
enum class WeightFormat { kF32, kBf16, kQ8 };

inline constexpr int kQ8Block = 32;

// Immutable.
class Weight {
 public:
  virtual ~Weight() = default;
  virtual WeightFormat format() const = 0;
  virtual int rows() const = 0;
  virtual int columns() const = 0;
  // What one pass over the matrix reads.
  virtual std::size_t bytes() const = 0;
};

// Writes rows [first, first + count) of a matrix at `out`, without gaps.
using WeightRows =
    absl::FunctionRef<absl::Status(int first, int count, float* out)>;

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_WEIGHT_H_
