#include "core/device/cuda/host_kernel.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "core/device/cuda/tensor_core.h"

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
  const TensorCore* core = nullptr;  // of sums of floats
};

template <typename Sum>
const Lane<Sum>& LaneAt(const void* const* in, int lane) {
  return *static_cast<const Lane<Sum>*>(in[lane]);
}

// Number i of those that a register holds.
template <typename Number>
Number NumberAt(std::uint32_t word, int i) {
  return static_cast<Number>(word >> (8 * sizeof(Number) * i));
}

// The sum runs over the numbers of each place's first register, then over those
// of its second one: 64 / sizeof(Number) in all.
template <typename Number, typename Sum>
struct Fragments {
  static constexpr int kEach = 4 / sizeof(Number);
  using Terms = std::array<Number, 8 * kEach>;

  explicit Fragments(const void* const* in) {
    for (int i = 0; i < 32; ++i) {
      const Lane<Sum>& lane = LaneAt<Sum>(in, i);
      const auto group = static_cast<std::size_t>(i / 4);
      for (std::size_t half = 0; half < 2; ++half)
        for (int j = 0; j < kEach; ++j) {
          const std::size_t k =
              half * 4 * kEach + static_cast<std::size_t>(i % 4 * kEach + j);
          a[group][k] = NumberAt<Number>((*lane.a)[2 * half], j);
          a[group + 8][k] = NumberAt<Number>((*lane.a)[2 * half + 1], j);
          b[group][k] = NumberAt<Number>((*lane.b)[half], j);
        }
    }
    ForEachSum(in, [](Sum& own, Sum& lanes) { own = lanes; });
  }
  void Store(const void* const* in) {
    ForEachSum(in, [](Sum& own, Sum& lanes) { lanes = own; });
  }

  std::array<Terms, 16> a;
  std::array<Terms, 8> b;  // by column
  std::array<std::array<Sum, 8>, 16> c;

 private:
  template <typename Work>
  void ForEachSum(const void* const* in, Work work) {
    for (std::size_t row = 0; row < 16; ++row)
      for (std::size_t column = 0; column < 8; ++column)
        work(c[row][column],
             (*LaneAt<Sum>(in, static_cast<int>(row % 8 * 4 + column / 2))
                   .c)[row / 8 * 2 + column % 2]);
  }
};

void AddBf16Products(const void* const* in, void* const* /*out*/,
                     std::uint32_t /*mask*/) {
  Fragments<std::uint16_t, float> of(in);
  MultiplyInTensorCore(*LaneAt<float>(in, 0).core, of.a, of.b, of.c);
  of.Store(in);
}

void AddByteProducts(const void* const* in, void* const* /*out*/,
                     std::uint32_t /*mask*/) {
  Fragments<std::int8_t, std::int32_t> of(in);
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t column = 0; column < 8; ++column)
      of.c[row][column] =
          std::inner_product(of.a[row].begin(), of.a[row].end(),
                             of.b[column].begin(), of.c[row][column]);
  of.Store(in);
}

}  // namespace

void Thread::Multiply(const std::array<std::uint32_t, 4>& a,
                      const std::array<std::uint32_t, 2>& b,
                      std::array<float, 4>& c, int line) const {
  const Lane<float> lane = {&a, &b, &c, &thread_->block().launch().core};
  thread_->Together({"matrix product", AddBf16Products, line}, kAllLanes, &lane,
                    &c);
}

void Thread::MultiplyBytes(const std::array<std::uint32_t, 4>& a,
                           const std::array<std::uint32_t, 2>& b,
                           std::array<std::int32_t, 4>& c, int line) const {
  const Lane<std::int32_t> lane = {&a, &b, &c};
  thread_->Together({"matrix product of bytes", AddByteProducts, line},
                    kAllLanes, &lane, &c);
}

}  // namespace banyan::on_host
