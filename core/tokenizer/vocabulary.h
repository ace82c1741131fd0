// Vocabularies: the bytes of their tokens, a name for them, and how those of
// two tokenizers differ and agree.
#ifndef BANYAN_CORE_TOKENIZER_VOCABULARY_H_
#define BANYAN_CORE_TOKENIZER_VOCABULARY_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/token.h"
#include "core/json/flat_map.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

// A name for a tokenizer's tokens, by which files made of token numbers say
// whose they are.

// FNV-1a (core/base/bytes.h) of each number's token as the tokenizer's file
// writes it, in order, with a byte ff after it and a byte fe in the place of
// none, as sixteen digits. Two tokenizers with the same numbers for the same
// tokens have one name, however their files are laid out.
std::string NameOfTokens(const Tokenizer& tokenizer);

// Where two tokenizers give one number to two tokens.

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

// Spellings: the bytes that each token of a vocabulary stands for, and which
// tokens begin with given bytes.

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

// VocabularyMap: which tokens of a target's and a drafter's vocabulary are the
// same.
//
// Two tokens are the same if they add the same bytes to a text (Spellings).
// Special tokens are the same if they are written alike; what ends a text in
// one ends it in the other, unless it is the same as something else already.

// The tokens that end a text, where that is known.
struct TextEnds {
  std::optional<TokenId> target, drafter;
};

// Does not change once made: any number of threads may use one.
class VocabularyMap {
 public:
  struct Pair {
    TokenId target, drafter;
  };

  VocabularyMap(std::shared_ptr<const Tokenizer> target,
                std::shared_ptr<const Tokenizer> drafter, const TextEnds& ends);

  const Spellings& target() const { return target_; }
  const Spellings& drafter() const { return drafter_; }

  // The tokens both have, each once, ascending by the target's.
  const std::vector<Pair>& common() const { return common_; }
  // The drafter's token for one of the target's. A token that is spelled as
  // another of its vocabulary has its partner too.
  std::optional<TokenId> DrafterOf(TokenId target) const;

 private:
  void AddSpecial();
  // Unless one of them has a partner.
  void MakeSame(TokenId target, TokenId drafter);
  void Add(TokenId target, TokenId drafter);

  Spellings target_, drafter_;
  std::vector<std::optional<TokenId>> drafter_of_;  // by the target's
  std::vector<Pair> common_;
  FlatSet<TokenId> taken_;  // the drafter's in it
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_VOCABULARY_H_
