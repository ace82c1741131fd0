// Spellings: the bytes that each token of a vocabulary stands for, and which
// tokens begin with given bytes.
#ifndef BANYAN_CORE_TOKENIZER_SPELLINGS_H_
#define BANYAN_CORE_TOKENIZER_SPELLINGS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

// Tokens are compared by what they add to a text: byte-level vocabularies write
// a space as another character than those of sentencepiece do. Special tokens
// spell nothing. Does not change once made: any number of threads may use one.
class Spellings {
 public:
  explicit Spellings(std::shared_ptr<const Tokenizer> tokenizer);

  const Tokenizer& tokenizer() const { return *tokenizer_; }

  // Returns a token's bytes after the start of a text (Tokenizer::TokenBytes).
  // Empty: the token is special, has no text, or is none of the vocabulary.
  const std::string& BytesOf(TokenId id) const;
  // The token of these bytes, if there is one. Of several the last: the byte
  // tokens that stand in for missing characters come first in vocabularies.
  std::optional<TokenId> Find(absl::string_view bytes) const;
  // Whether a token begins with these bytes and goes on.
  bool BeginsLonger(absl::string_view bytes) const;
  // Of the longest token, in bytes.
  std::size_t longest() const { return longest_; }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<std::string> bytes_;  // by id
  std::vector<TokenId> sorted_;     // those with bytes, by them and by id
  std::size_t longest_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_SPELLINGS_H_
