// Texts drawn, and passages counted by scanning them, for tests of what counts
// them cleverly.
#ifndef BANYAN_TESTS_DRAFTERS_TEXT_PASSAGES_H_
#define BANYAN_TESTS_DRAFTERS_TEXT_PASSAGES_H_

#include <utility>
#include <vector>

#include "core/base/token.h"
#include "tests/support/dice.h"

namespace banyan {

using Texts = std::vector<std::vector<TokenId>>;

std::vector<TokenId> SomeTokens(Dice& dice, int count, int vocab_size);
// The last `count` tokens, of at least as many.
std::vector<TokenId> Last(const std::vector<TokenId>& text, int count);

// Where a passage stands: the text, and how many tokens that has up to the
// passage's end; ascending.
std::vector<std::pair<int, int>> EndsOf(const std::vector<TokenId>& passage,
                                        const Texts& texts);
int CountOf(const std::vector<TokenId>& passage, const Texts& texts);

// The tokens below `vocab_size` that follow it somewhere: by falling count, of
// equal ones the one that did last first.
std::vector<TokenId> FollowersOf(const std::vector<TokenId>& passage,
                                 const Texts& texts, int vocab_size);

}  // namespace banyan

#endif  // BANYAN_TESTS_DRAFTERS_TEXT_PASSAGES_H_
