// Text for the benchmarks of drafters that look into the text.
#ifndef BANYAN_TESTS_BENCHMARKS_MADE_UP_TEXT_H_
#define BANYAN_TESTS_BENCHMARKS_MADE_UP_TEXT_H_

#include <cstdint>

#include "core/base/token.h"

namespace banyan {

inline constexpr int kTextVocabSize = 32'000;

// Returns token `index` of a text with repeated phrases: one of 200 phrases of
// 8 tokens, then a token of Zipf's distribution, as after a common word.
TokenId TextAt(std::uint64_t index);

}  // namespace banyan

#endif  // BANYAN_TESTS_BENCHMARKS_MADE_UP_TEXT_H_
