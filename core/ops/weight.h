// Weight, a matrix packed for one backend, and the ops that read it.
#ifndef BANYAN_CORE_OPS_WEIGHT_H_
#define BANYAN_CORE_OPS_WEIGHT_H_

#include <cstddef>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/weight_format.h"
#include "core/ops/op_args.h"

namespace banyan {

// Weight: a matrix of a model, packed for one backend.

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
    case WeightFormat::kQ4:
    case WeightFormat::kQ4Super:
      return numbers / 2 + 2 * numbers / kQ8Block;
    case WeightFormat::kQ4Min:
      return numbers / 2 + 4 * numbers / kQ8Block;
  }
  return 0;
}

// What is said where `who` keeps no weights of four bits.
inline absl::Status NoFourBits(absl::string_view who) {
  return absl::InvalidArgumentError(absl::StrCat(
      who,
      " keeps no weights of four bits; expected --weights q8, bf16 or f32"));
}

// Rows of a matrix whose numbers are wanted together by what follows a product
// (LinearOutput): row i and row i + distance, in blocks of 2 * distance rows,
// the first half with the second, `pairs` times in all from row 0 on. A device
// may keep its rows in an order in which they are neighbours.
struct RowPairs {
  int pairs = 0;
  int distance = 0;
};

// Writes rows [first, first + count) of a matrix at `out`, without gaps. They
// are finite, and remain so in the format they are packed in (LargestWeight).
using WeightRows =
    absl::FunctionRef<absl::Status(int first, int count, float* out)>;

// Embed: rows of a weight, by number.

// y[i] = table[ids[i]], or y[i] += where `add`. Requires ids within the table.
struct EmbedArgs {
  Ints ids;
  const Weight* table;
  Tensor y;
  bool add = false;
};

// Linear: activations times the transpose of a weight.

// 127 / m is a float for every m from here on.
inline constexpr float kQ8Least = 0x1p-120F;

// y[i][j] = sum over k of x[i][k] * weight[j][k] (+ bias[j]), or y[i][j] += it
// where `add`. Writes the y.columns == weight.rows() numbers of each row and no
// more. y does not overlap x.
//
// With kQ8, and with weights of four bits, each row of x is quantised in blocks
// of 32 first: with m the largest
// magnitude of a block, x = (m / 127) * q where q is x * (127 / m), in 32-bit
// floats, rounded to the nearest, ties to even (all 0 if m is below kQ8Least).
// If m is not finite, the whole row of y is NaN.
//
// A source is an op whose result x is: it is done first. A device may make the
// rows where the product reads them, and then does not write x.
using LinearInput = std::variant<std::monostate, NormArgs, ActivateArgs,
                                 absl::Span<const AttentionArgs>>;
//
// What follows is an op on y: it is done next. A device may do it where it has
// the product's numbers, and then does not write y. It reads all of y: gate and
// up, if there is one, in their order; or queries, keys and values.
using LinearOutput =
    std::variant<std::monostate, ActivateArgs, RotateStoreArgs>;
struct LinearArgs {
  Tensor x;
  const Weight* weight;
  Tensor bias;  // one row; may be empty
  Tensor y;
  bool add = false;
  LinearInput source = {};
  // Where it is not empty, SquaresColumns(y.columns) columns, in which a device
  // may leave the sums of squares of y's numbers for the norm that reads y
  // (NormArgs::squares), if the product after that norm has a weight of the
  // same format. Nothing else reads them.
  Tensor squares = {};
  LinearOutput then = {};
};

}  // namespace banyan

#endif  // BANYAN_CORE_OPS_WEIGHT_H_
