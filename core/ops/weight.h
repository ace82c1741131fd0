// Weight: a matrix of a model, packed for one backend.
#ifndef BANYAN_CORE_OPS_WEIGHT_H_
#define BANYAN_CORE_OPS_WEIGHT_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "core/base/panel.h"
#include "core/base/weight_format.h"

namespace banyan {

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

// About what such a matrix takes, however a backend packs it.
inline std::size_t PackedBytes(WeightFormat format, int rows, int columns) {
  const auto numbers =
      static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  switch (format) {
    case WeightFormat::kF32:
      return 4 * numbers;
    case WeightFormat::kBf16:
      return 2 * numbers;
    case WeightFormat::kQ8:
      return numbers + 2 * numbers / kQ8Block;  // and a scale a block
  }
  return 0;
}

// Writes rows [first, first + count) of a matrix at `out`, without gaps. They
// are finite, and remain so in the format they are packed in (LargestWeight).
using WeightRows =
    absl::FunctionRef<absl::Status(int first, int count, float* out)>;

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_WEIGHT_H_
