// Functions that banyan_dist has itself, so that it runs with fewer libraries.
//
// Highway's library, which Debian has as a shared one only, tells the
// instruction sets of this processor, and which one was chosen.
#include <sys/random.h>

#include <cstdint>

#include "hwy/targets.h"

namespace hwy {
namespace {

bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt");
}

bool HasAvx3() {
  return __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd");
}

bool HasAvx3Dl() {
  return __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("vpclmulqdq") &&
         __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2") &&
         __builtin_cpu_supports("vaes") &&
         __builtin_cpu_supports("avx512vpopcntdq") &&
         __builtin_cpu_supports("avx512bitalg") &&
         __builtin_cpu_supports("gfni");
}

}  // namespace

std::int64_t SupportedTargets() {
  __builtin_cpu_init();
  std::int64_t targets = HWY_SCALAR | HWY_EMU128;
  if (!HasAvx2()) return targets;
  targets |= HWY_AVX2;
  if (!HasAvx3()) return targets;
  targets |= HWY_AVX3;
  if (HasAvx3Dl()) targets |= HWY_AVX3_DL;
  return targets;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy

// Of glibc 2.36, for std::random_device; the program is to run with glibc 2.35.
extern "C" std::uint32_t arc4random() {
  std::uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}
