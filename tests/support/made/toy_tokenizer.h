// Tokenizers of a few tokens.
#ifndef BANYAN_TESTS_SUPPORT_MADE_TOY_TOKENIZER_H_
#define BANYAN_TESTS_SUPPORT_MADE_TOY_TOKENIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace banyan {

struct ToyTokenizerOptions {
  std::string pattern;     // of the words a text is cut into first; empty: one
  std::string normalizer;  // a type without keys, such as NFC
};

// By byte-pair encoding: longer tokens are merged of two of the list, the first
// of the list first. A token in angle brackets, `<x>`, is special; <begin>
// stands before a text, <end> or <stop> ends it.
std::shared_ptr<const Tokenizer> ToyTokenizer(
    const std::vector<std::string>& tokens,
    const ToyTokenizerOptions& options = {});

}  // namespace banyan

#endif  // BANYAN_TESTS_SUPPORT_MADE_TOY_TOKENIZER_H_
