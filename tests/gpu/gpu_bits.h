// The bits that a GPU must compute, made by the emulated GPU: hashes of what
// models give, kept in tests/goldens/gpu_bits.txt.
#ifndef BANYAN_TESTS_GPU_GPU_BITS_H_
#define BANYAN_TESTS_GPU_GPU_BITS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/ops/backend.h"

namespace banyan {

inline constexpr char kBitsFile[] = "tests/goldens/gpu_bits.txt";
// The numbers of rows that a pass is tried with.
inline constexpr int kBitsRows[] = {1, 2, 7, 8, 9, 16, 17, 33, 64, 65, 130};
// The capabilities whose tensor cores add in a way of their own.
inline constexpr absl::string_view kBitsCores[] = {"9.0", "8.0"};

// One model in one format: a folder of models/, or "random-FAMILY".
struct BitsCase {
  std::string model;
  WeightFormat format;

  std::string ToText() const;  // "pycode-target bf16"
};
// Every case of the file, in its order.
std::vector<BitsCase> BitsCases();

// Hashes of what a case gives on one kind of tensor cores.
struct BitsOf {
  std::string rotation;  // of the angles of all positions; "-": has none
  std::string weights;   // of the matrices as they are packed
  std::vector<std::string> logits;  // by place in kBitsRows
};

// Returns a new emulated GPU with the tensor cores of a capability ("9.0").
std::shared_ptr<Backend> EmulatedGpuOf(absl::string_view core);
// Returns the one of kBitsCores whose bits a device has.
absl::string_view CoreOf(const Backend& backend);

// Returns what passes of each of kBitsRows must give, by one pass of the most
// rows: fewer rows are its first ones. A failure ends the program.
BitsOf PredictBits(const BitsCase& bits, std::shared_ptr<Backend> backend);
// Returns what a pass gives, for each number of rows. A failure ends the
// program.
BitsOf MeasureBits(const BitsCase& bits, std::shared_ptr<Backend> backend,
                   const std::vector<int>& rows);

// Runs the case with this many rows on two backends, and says in which op of it
// they part first (FirstDifference); nothing if they do not.
std::optional<std::string> WhereTheyPart(const BitsCase& bits, int rows,
                                         std::shared_ptr<Backend> one,
                                         std::shared_ptr<Backend> other);

// The file: a line a case and kind of tensor cores.
struct BitsLine {
  std::string model, format, core;
  BitsOf bits;
};
std::string WriteBits(const std::vector<BitsLine>& lines);
// Fails with InvalidArgument, which names the line.
absl::StatusOr<std::vector<BitsLine>> ReadBits(const std::string& text);

}  // namespace banyan

#endif  // BANYAN_TESTS_GPU_GPU_BITS_H_
