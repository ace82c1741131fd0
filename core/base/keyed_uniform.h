// Uniform numbers as a pure function of a seed and of the choice they are for,
// the same on the host and on a device.
#ifndef BANYAN_CORE_BASE_KEYED_UNIFORM_H_
#define BANYAN_CORE_BASE_KEYED_UNIFORM_H_

#include <Random123/philox.h>

#include <cstdint>

#include "core/base/draw_math.h"

namespace banyan {

// Names one choice under a seed (ChoiceKey, core/random/random_source.h).
struct ChoiceWords {
  std::uint64_t words[3];
};

BANYAN_ANYWHERE ChoiceWords WordsOf(std::uint32_t prompt, std::uint32_t round,
                                    std::uint32_t node, std::uint32_t draw,
                                    std::uint16_t trunk, std::uint8_t purpose) {
  return {{(std::uint64_t{prompt} << 32) | round,
           (std::uint64_t{node} << 32) | draw,
           (std::uint64_t{trunk} << 8) | purpose}};
}

// Returns the choice's number in [0, 1), with 53 random bits: Philox4x64-10 of
// the choice's words under the seed.
BANYAN_ANYWHERE double UniformOf(std::uint64_t seed,
                                 const ChoiceWords& choice) {
  const r123::Philox4x64::ctr_type counter = {
      {choice.words[0], choice.words[1], choice.words[2], 0}};
  const r123::Philox4x64::key_type key = {{seed, 0}};
  constexpr int kUnusedBits = 64 - 53;
  return static_cast<double>(r123::Philox4x64()(counter, key)[0] >>
                             kUnusedBits) *
         0x1p-53;
}

}  // namespace banyan

#endif  // BANYAN_CORE_BASE_KEYED_UNIFORM_H_
