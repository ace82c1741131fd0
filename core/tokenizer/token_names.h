// A name for a tokenizer's tokens, by which files made of token numbers say
// whose they are.
#ifndef BANYAN_CORE_TOKENIZER_TOKEN_NAMES_H_
#define BANYAN_CORE_TOKENIZER_TOKEN_NAMES_H_

#include <string>

#include "core/tokenizer/tokenizer.h"

namespace banyan {

// FNV-1a (core/base/fnv1a.h) of each number's token as the tokenizer's file
// writes it, in order, with a byte ff after it and a byte fe in the place of
// none, as sixteen digits. Two tokenizers with the same numbers for the same
// tokens have one name, however their files are laid out.
std::string NameOfTokens(const Tokenizer& tokenizer);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_TOKEN_NAMES_H_
