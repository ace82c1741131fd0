// Reproducible noise for made-up models.
#ifndef BANYAN_TESTS_SUPPORT_MIX_H_
#define BANYAN_TESTS_SUPPORT_MIX_H_

#include <cstdint>

#include "core/base/bytes.h"

namespace banyan {

// SplitMix64's step and finaliser: a fixed, well-mixed function of its
// argument.
inline std::uint64_t Mix(std::uint64_t x) {
  return Mixed(x + 0x9e3779b97f4a7c15);
}

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MIX_H_
