#include "core/device/cuda/host_kernel.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace banyan::on_host {
namespace {

// What one lane holds of the product's parts, as the instruction lays them out:
// lane l has, of group l / 4 and place l % 4, rows group and group + 8 of a and
// c, column group of b, columns 2 place and 2 place + 1 of c, and along the sum
// the elements that place names.
template <typename Sum>
struct Lane {
  const std::array<std::uint32_t, 4>* a;
  const std::array<std::uint32_t, 2>* b;
  std::array<Sum, 4>* c;
};

// Element i of the numbers that a register holds.
struct Bf16 {
  static constexpr int kEach = 2;
  static double At(std::uint32_t word, int i) {
    return std::bit_cast<float>((word >> (16 * i) & 0xffff) << 16);
  }
};
struct Byte {
  static constexpr int kEach = 4;
  static std::int32_t At(std::uint32_t word, int i) {
    return static_cast<std::int8_t>(word >> (8 * i) & 0xff);
  }
};

// The sum runs over 8 kEach elements: those of each place's first register,
// then those of its second one.
template <typename Element, typename Exact, typename Sum>
void Product(const void* const* in, void* const* /*out*/,
             std::uint32_t /*mask*/) {
  constexpr int kEach = Element::kEach;
  Exact a[16][8 * kEach];
  Exact b[8 * kEach][8];
  for (int i = 0; i < 32; ++i) {
    const auto& lane = *static_cast<const Lane<Sum>*>(in[i]);
    const int group = i / 4;
    for (std::size_t half = 0; half < 2; ++half)
      for (int j = 0; j < kEach; ++j) {
        const int k = static_cast<int>(half) * 4 * kEach + i % 4 * kEach + j;
        a[group][k] = Element::At((*lane.a)[2 * half], j);
        a[group + 8][k] = Element::At((*lane.a)[2 * half + 1], j);
        b[k][group] = Element::At((*lane.b)[half], j);
      }
  }
  for (int row = 0; row < 16; ++row) {
    const auto c = [&](int column) -> Sum& {
      const auto& lane =
          *static_cast<const Lane<Sum>*>(in[row % 8 * 4 + column / 2]);
      return (*lane.c)[static_cast<std::size_t>(row / 8 * 2 + column % 2)];
    };
    Exact sums[8];
    for (int column = 0; column < 8; ++column) sums[column] = c(column);
    for (int k = 0; k < 8 * kEach; ++k)
      for (int column = 0; column < 8; ++column)
        sums[column] += a[row][k] * b[k][column];
    for (int column = 0; column < 8; ++column)
      c(column) = static_cast<Sum>(sums[column]);
  }
}

}  // namespace

void Thread::Multiply(const std::array<std::uint32_t, 4>& a,
                      const std::array<std::uint32_t, 2>& b,
                      std::array<float, 4>& c, int line) const {
  const Lane<float> lane = {&a, &b, &c};
  thread_->Together({"matrix product", Product<Bf16, double, float>, line},
                    kAllLanes, &lane, &c);
}

void Thread::MultiplyBytes(const std::array<std::uint32_t, 4>& a,
                           const std::array<std::uint32_t, 2>& b,
                           std::array<std::int32_t, 4>& c, int line) const {
  const Lane<std::int32_t> lane = {&a, &b, &c};
  thread_->Together({"matrix product of bytes",
                     Product<Byte, std::int32_t, std::int32_t>, line},
                    kAllLanes, &lane, &c);
}

}  // namespace banyan::on_host
