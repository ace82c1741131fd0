#include "core/device/cuda/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

namespace banyan {
namespace {

constexpr std::size_t kTerms = 16;
// Added to another exponent, less than any.
constexpr int kNone = -10000;

struct Operand {
  double value = 0;
  int exponent = kNone;
  bool is_finite = true;
};

Operand OperandOf(std::uint16_t bits) {
  const int exponent = bits >> 7 & 0xff;
  return {
      .value = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16),
      .exponent = (bits & 0x7fff) == 0 ? kNone : std::max(exponent, 1) - 127,
      .is_finite = exponent != 0xff};
}

int ExponentOf(float number) {
  const int exponent =
      static_cast<int>(std::bit_cast<std::uint32_t>(number) >> 23 & 0xff);
  return std::max(exponent, 1) - 127;
}

// 2^exponent, which is a normal double.
double PowerOf(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023)
                               << 52);
}

// The float nearest to `exact` that is no larger; infinite from 2^128 on.
float Cut(double exact) {
  // Below the normal numbers floats are multiples of 2^-149.
  constexpr double kLeast = 0x1p-149;
  if (std::fabs(exact) < 0x1p-126)
    return static_cast<float>(static_cast<int>(exact / kLeast) * kLeast);
  // A float has 29 bits less than a double.
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(exact);
  return static_cast<float>(std::bit_cast<double>(bits & ~0x1fffffffULL));
}

// Columns beside each other, which compilers then take at once.
template <std::size_t kCount>
struct Columns {
  std::array<std::array<double, kCount>, kTerms> values;
  std::array<std::array<int, kCount>, kTerms> exponents;
};

// One step: adds the products of terms `first` to `end`, all of them finite.
template <std::size_t kCount>
[[gnu::always_inline]] inline void AddProducts(
    int bits, const std::array<Operand, kTerms>& a, const Columns<kCount>& b,
    std::size_t first, std::size_t end, float* c) {
  std::array<int, kCount> largest;
  for (std::size_t i = 0; i < kCount; ++i) largest[i] = ExponentOf(c[i]);
  for (std::size_t k = first; k < end; ++k)
    for (std::size_t i = 0; i < kCount; ++i)
      largest[i] = std::max(largest[i], a[k].exponent + b.exponents[k][i]);
  // What is cut is at most 2^27, with 25 bits.
  std::array<double, kCount> scale;
  std::array<double, kCount> sums;
  for (std::size_t i = 0; i < kCount; ++i) {
    scale[i] = PowerOf(bits - largest[i]);
    sums[i] = static_cast<int>(c[i] * scale[i]);
  }
  for (std::size_t k = first; k < end; ++k)
    for (std::size_t i = 0; i < kCount; ++i)
      sums[i] += static_cast<int>(a[k].value * b.values[k][i] * scale[i]);
  for (std::size_t i = 0; i < kCount; ++i)
    c[i] = Cut(sums[i] * PowerOf(largest[i] - bits));
}

// With wide vectors where there are any: the instructions are the processor's,
// the numbers are the same.
#if defined(__x86_64__) && !defined(__clang__)
[[gnu::target_clones("avx2", "default")]]
#endif
void AddEightColumns(int bits, const std::array<Operand, kTerms>& a,
                     const Columns<8>& b, std::size_t first, std::size_t end,
                     float* c) {
  AddProducts<8>(bits, a, b, first, end, c);
}

// The same for one column, some of whose numbers may be infinite or none.
void AddAnyProducts(int bits, const std::array<Operand, kTerms>& a,
                    const Columns<8>& all, std::size_t column,
                    std::size_t first, std::size_t end, float& c) {
  Columns<1> b;
  double sum = c;
  for (std::size_t k = first; k < end; ++k) {
    b.values[k][0] = all.values[k][column];
    b.exponents[k][0] = all.exponents[k][column];
    sum += a[k].value * b.values[k][0];
  }
  if (std::isnan(sum))
    c = std::bit_cast<float>(std::uint32_t{0x7fffffff});
  else if (std::isinf(sum))
    c = static_cast<float>(sum);
  else
    AddProducts<1>(bits, a, b, first, end, &c);
}

}  // namespace

absl::StatusOr<TensorCore> TensorCoreOf(int capability) {
  if (capability == 90) return TensorCore{.products = 16, .bits = 25};
  if (capability / 10 == 8) return TensorCore{.products = 8, .bits = 24};
  return absl::InvalidArgumentError(
      absl::StrCat("compute capability ", capability / 10, ".", capability % 10,
                   ": expected 8.0 to 8.9 or 9.0, of whose tensor cores it is "
                   "known how they add"));
}

void MultiplyInTensorCore(const TensorCore& core,
                          const std::array<TensorTerms, 16>& a,
                          const std::array<TensorTerms, 8>& b,
                          std::array<std::array<float, 8>, 16>& c) {
  Columns<8> columns;
  bool all_finite = true;
  for (std::size_t i = 0; i < b.size(); ++i)
    for (std::size_t k = 0; k < kTerms; ++k) {
      const Operand operand = OperandOf(b[i][k]);
      columns.values[k][i] = operand.value;
      columns.exponents[k][i] = operand.exponent;
      all_finite = all_finite && operand.is_finite;
    }
  const auto step = static_cast<std::size_t>(core.products);
  for (std::size_t row = 0; row < a.size(); ++row) {
    std::array<Operand, kTerms> terms;
    bool row_finite = all_finite;
    for (std::size_t k = 0; k < kTerms; ++k) {
      terms[k] = OperandOf(a[row][k]);
      row_finite = row_finite && terms[k].is_finite;
    }
    for (std::size_t first = 0; first < kTerms; first += step) {
      std::array<float, 8>& to = c[row];
      for (float number : to) row_finite = row_finite && std::isfinite(number);
      if (row_finite) {
        AddEightColumns(core.bits, terms, columns, first, first + step,
                        to.data());
        continue;
      }
      for (std::size_t i = 0; i < to.size(); ++i)
        AddAnyProducts(core.bits, terms, columns, i, first, first + step,
                       to[i]);
    }
  }
}

}  // namespace banyan
