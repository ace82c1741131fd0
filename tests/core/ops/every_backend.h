// One op on every backend: the matrices it reads and writes, laid out awkwardly
// and among rubbish, and the comparisons.
#ifndef BANYAN_TESTS_CORE_OPS_EVERY_BACKEND_H_
#define BANYAN_TESTS_CORE_OPS_EVERY_BACKEND_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/device/buffer.h"
#include "core/ops/backend.h"
#include "core/ops/op_args.h"
#include "core/ops/weight.h"
#include "tests/support/dice.h"

namespace banyan {

// Half the distance of 1 to the next 32-bit float: what one rounding may move
// a number by, relatively. Below 2^-126 a rounding moves it by up to kTiny / 2.
inline constexpr double kUnit = 0x1p-24;
inline constexpr double kTiny = 0x1p-149;
// The same for bfloat16.
inline constexpr double kBf16Unit = 0x1p-8;
inline constexpr double kBf16Tiny = 0x1p-133;

// A matrix without gaps.
struct Numbers {
  Numbers() = default;
  Numbers(int some_rows, int some_columns)
      : rows(some_rows),
        columns(some_columns),
        data(static_cast<std::size_t>(some_rows) *
             static_cast<std::size_t>(some_columns)) {}

  float* row(int i) {
    return data.data() +
           static_cast<std::size_t>(i) * static_cast<std::size_t>(columns);
  }
  const float* row(int i) const { return const_cast<Numbers*>(this)->row(i); }
  float& at(int i, int j) { return row(i)[j]; }
  float at(int i, int j) const { return row(i)[j]; }
  Numbers Rows(int first, int count) const;

  int rows = 0;
  int columns = 0;
  std::vector<float> data;
};

// Numbers that are hard to add up: magnitudes up to 2^spread and down to
// 2^-spread, zeros of both signs, denormals; ordinary rows in between, and rows
// of zeros or denormals only.
Numbers HardNumbers(int rows, int columns, int spread, Dice& dice);
// Uniform in [-size, size).
Numbers SoftNumbers(int rows, int columns, float size, Dice& dice);

// Where a matrix stands in its buffer: from column `first` on, with whole lanes
// between its last column and the next row.
struct Place {
  int first = 0;
  int lanes = 0;
};
Place RandomPlace(Dice& dice);

// Memory of one backend, full of rubbish that no other desk has, NaN too.
// Failures end the program.
class Desk {
 public:
  explicit Desk(Backend& backend);

  Tensor Put(const Numbers& numbers, Place place = {});
  Tensor Room(int rows, int columns, Place place = {});
  Ints List(const std::vector<int>& values);

  // What stands there now; a failure if anything around it has changed.
  Numbers Take(const Tensor& tensor);

 private:
  Buffer* Upload(const void* data, std::size_t bytes);

  Backend& backend_;
  Dice dice_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::map<Buffer*, std::vector<float>> uploaded_;
};

// A weight on every backend that asks for it.
class Everywhere {
 public:
  Everywhere(WeightFormat format, Numbers numbers, RowPairs pairs = {})
      : format_(format), numbers_(std::move(numbers)), pairs_(pairs) {}
  const Weight* On(Backend& backend);
  const Numbers& numbers() const { return numbers_; }

 private:
  WeightFormat format_;
  Numbers numbers_;
  RowPairs pairs_;
  std::map<Backend*, std::unique_ptr<Weight>> packed_;
};

// Backends of one device, with every instruction set it has here and, where it
// takes a number of threads, 1, 2 and 3 of them; of the host device, whose
// threads take turns, with two orders of them. They owe each other the same
// bits; those of another order of sums (BackendFacts::sums) are kin of their
// own.
struct Kin {
  std::string device;
  std::vector<std::shared_ptr<Backend>> backends;
};

// The reference, and every other device of the table that is on this machine.
struct Fleet {
  Fleet();

  // All but the reference, kin by kin.
  std::vector<std::shared_ptr<Backend>> others() const;
  // Everything; and what has its buffers in this machine's memory (host.h).
  std::vector<std::shared_ptr<Backend>> all() const;
  std::vector<std::shared_ptr<Backend>> hosts() const;

  std::shared_ptr<Backend> reference;
  std::vector<Kin> kin;  // the cpu in lanes first
};

// Equal to the last bit.
testing::AssertionResult SameBits(const Numbers& got, const Numbers& expected);
// No further from `expected` than `bound` says, number by number. NaN fails.
testing::AssertionResult Within(const Numbers& got, const Numbers& expected,
                                const std::vector<double>& bound);

// Runs an op for rows [first, first + count) of its inputs.
using RunRows =
    absl::FunctionRef<Numbers(Backend& backend, int first, int count)>;
// What may lie between the reference's numbers and another backend's.
using BoundOf = absl::FunctionRef<std::vector<double>(
    const Numbers& expected, const BackendFacts& other)>;

// Of every device, expects numbers within bounds of the reference's, the same
// bits on all its kin, and the same bits for a row alone. Returns the cpu's.
Numbers ExpectAgreement(Fleet& fleet, int rows, RunRows run, BoundOf bound,
                        const std::string& what);

}  // namespace banyan

#endif  // BANYAN_TESTS_CORE_OPS_EVERY_BACKEND_H_
