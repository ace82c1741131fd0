#include "tests/benchmarks/made_up_text.h"

#include "tests/support/mix.h"

namespace banyan {

TokenId TextAt(std::uint64_t index) {
  constexpr std::uint64_t kPhrase = 9;
  const std::uint64_t place = index % kPhrase;
  const std::uint64_t draw = Mix(index / kPhrase);
  if (place + 1 < kPhrase)
    return static_cast<TokenId>(Mix(draw % 200 * kPhrase + place) % 2000);
  const double u = static_cast<double>(draw >> 11) * 0x1p-53;
  return static_cast<TokenId>(1 / (u + 1.0 / kTextVocabSize)) % kTextVocabSize;
}

}  // namespace banyan
