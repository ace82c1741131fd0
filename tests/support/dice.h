// Reproducible choices for tests that wander.
#ifndef BANYAN_TESTS_SUPPORT_DICE_H_
#define BANYAN_TESTS_SUPPORT_DICE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/mix.h"

namespace banyan {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(Mix(seed)) {}

  // One of 0 .. size - 1, and of first .. last.
  int Below(int size) {
    return static_cast<int>(Mix(state_++) % static_cast<std::uint64_t>(size));
  }
  int Between(int first, int last) { return first + Below(last - first + 1); }
  bool OneIn(int size) { return Below(size) == 0; }
  template <typename T>
  const T& OneOf(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(
        Below(static_cast<int>(values.size())))];
  }
  // In [-1, 1), with 24 bits.
  float Signed() {
    return static_cast<float>(
        std::ldexp(static_cast<double>(Below(1 << 25) - (1 << 24)), -24));
  }

 private:
  std::uint64_t state_;
};

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_DICE_H_
