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

double FromBf16(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

// Element i of the numbers that a register holds.
struct Bf16 {
  static constexpr int kEach = 2;
  static double At(std::uint32_t word, int i) {
    return FromBf16(word >> (16 * i) & 0xffff);
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
  const auto lane = [&](int i) {
    return *static_cast<const Lane<Sum>*>(in[i]);
  };
  for (int group = 0; group < 8; ++group)
    for (int high = 0; high < 2; ++high)
      for (int column = 0; column < 8; ++column) {
        const int holder = group * 4 + column / 2;
        Sum& c =
            (*lane(holder).c)[static_cast<std::size_t>(high * 2 + column % 2)];
        Exact sum = c;
        for (int half = 0; half < 2; ++half)
          for (int place = 0; place < 4; ++place)
            for (int i = 0; i < Element::kEach; ++i)
              sum += Element::At(
                         (*lane(group * 4 + place)
                               .a)[static_cast<std::size_t>(high + 2 * half)],
                         i) *
                     Element::At((*lane(column * 4 + place)
                                       .b)[static_cast<std::size_t>(half)],
                                 i);
        c = static_cast<Sum>(sum);
      }
}

}  // namespace

void Thread::Multiply(const std::array<std::uint32_t, 4>& a,
                      const std::array<std::uint32_t, 2>& b,
                      std::array<float, 4>& c) const {
  const Lane<float> lane = {&a, &b, &c};
  thread_->Together({"matrix product", Product<Bf16, double, float>}, kAllLanes,
                    &lane, &c);
}

void Thread::MultiplyBytes(const std::array<std::uint32_t, 4>& a,
                           const std::array<std::uint32_t, 2>& b,
                           std::array<std::int32_t, 4>& c) const {
  const Lane<std::int32_t> lane = {&a, &b, &c};
  thread_->Together(
      {"matrix product of bytes", Product<Byte, std::int32_t, std::int32_t>},
      kAllLanes, &lane, &c);
}

}  // namespace banyan::on_host
