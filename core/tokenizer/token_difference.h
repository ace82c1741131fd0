// Where two tokenizers give one number to two tokens.
#ifndef BANYAN_CORE_TOKENIZER_TOKEN_DIFFERENCE_H_
#define BANYAN_CORE_TOKENIZER_TOKEN_DIFFERENCE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

// A number that both tokenizers have a token for, but not the same one.
struct TokenDifference {
  TokenId id = 0;
  std::string target, drafter;  // as the files write it
};

// In order of number.
std::vector<TokenDifference> DifferingTokens(const Tokenizer& target,
                                             const Tokenizer& drafter);
// "token 5 is 'x' here and 'y' in the target's tokenizer.json"
std::string Describe(const TokenDifference& difference);

// A token's text in quotes, bytes that are no text escaped.
std::string QuotedToken(absl::string_view token);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_TOKEN_DIFFERENCE_H_
