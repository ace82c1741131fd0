#include "tests/gpu/probe/model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "core/device/cuda/tensor_core.h"

namespace banyan::probe {
namespace {

using Numbers = std::vector<std::uint16_t>;

std::size_t Place(int row, int column, int columns) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
         static_cast<std::size_t>(column);
}

float NumberOf(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

int ExponentOf(double x) {
  return x == 0 ? -126 : std::max(std::ilogb(x), -126);
}

float CutToFloat(double exact) {
  if (std::fabs(exact) >= 0x1p128)
    return std::copysign(INFINITY, static_cast<float>(exact));
  const auto near = static_cast<float>(exact);
  return std::fabs(static_cast<double>(near)) > std::fabs(exact)
             ? std::nextafter(near, 0.0F)
             : near;
}

float AddIfZerosCount(const std::uint16_t* a, const std::uint16_t* b, float c) {
  int largest = ExponentOf(c);
  for (int i = 0; i < 16; ++i)
    largest = std::max(largest,
                       ExponentOf(NumberOf(a[i])) + ExponentOf(NumberOf(b[i])));
  double sum = std::trunc(std::ldexp(static_cast<double>(c), 25 - largest));
  for (int i = 0; i < 16; ++i)
    sum += std::trunc(std::ldexp(
        static_cast<double>(NumberOf(a[i])) * NumberOf(b[i]), 25 - largest));
  return CutToFloat(std::ldexp(sum + 0.0, largest - 25));
}

}  // namespace

std::vector<float> ModelSums(const Numbers& a, const Numbers& b, int columns) {
  const TensorCore core = TensorCoreOf(90).value();
  std::vector<float> sums(kSide * kSide);
  for (int row = 0; row < kSide; row += 16)
    for (int column = 0; column < kSide; column += 8) {
      std::array<std::array<float, 8>, 16> c = {};
      for (int k = 0; k < columns; k += 16) {
        std::array<TensorTerms, 16> of_a;
        std::array<TensorTerms, 8> of_b;
        for (int i = 0; i < 16; ++i)
          std::copy_n(a.begin() + static_cast<std::ptrdiff_t>(
                                      Place(row + i, k, columns)),
                      16, of_a[static_cast<std::size_t>(i)].begin());
        for (int i = 0; i < 8; ++i)
          std::copy_n(b.begin() + static_cast<std::ptrdiff_t>(
                                      Place(column + i, k, columns)),
                      16, of_b[static_cast<std::size_t>(i)].begin());
        MultiplyInTensorCore(core, of_a, of_b, c);
      }
      for (int i = 0; i < 16; ++i)
        std::copy_n(c[static_cast<std::size_t>(i)].begin(), 8,
                    sums.begin() + static_cast<std::ptrdiff_t>(
                                       Place(row + i, column, kSide)));
    }
  return sums;
}

std::vector<float> SumsIfZerosCount(const Numbers& a, const Numbers& b,
                                    int columns) {
  std::vector<float> sums(kSide * kSide);
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      float& sum = sums[Place(row, column, kSide)];
      for (int k = 0; k < columns; k += 16)
        sum = AddIfZerosCount(&a[Place(row, k, columns)],
                              &b[Place(column, k, columns)], sum);
    }
  return sums;
}

}  // namespace banyan::probe
