// Reproducible noise for made-up models.
#ifndef BANYAN_TESTS_SUPPORT_MIX_H_
#define BANYAN_TESTS_SUPPORT_MIX_H_

#include <cstdint>

namespace banyan {

// SplitMix64's finaliser: a fixed, well-mixed function of its argument.
inline std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MIX_H_
