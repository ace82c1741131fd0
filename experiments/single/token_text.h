// Tokens in tables.
#ifndef BANYAN_EXPERIMENTS_SINGLE_TOKEN_TEXT_H_
#define BANYAN_EXPERIMENTS_SINGLE_TOKEN_TEXT_H_

#include <string>

#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

// The token as the tokenizer's file writes it, control characters as \x0a;
// empty without a tokenizer or if the id has no token.
std::string ShownToken(const Tokenizer* tokenizer, TokenId id);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_SINGLE_TOKEN_TEXT_H_
