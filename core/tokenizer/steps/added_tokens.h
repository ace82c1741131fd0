// Tokens that no merge makes: the sections `added_tokens` and `post_processor`
// of tokenizer.json.
#ifndef BANYAN_CORE_TOKENIZER_STEPS_ADDED_TOKENS_H_
#define BANYAN_CORE_TOKENIZER_STEPS_ADDED_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/json/flat_map.h"
#include "core/json/json_value.h"
#include "core/tokenizer/steps/normalizer.h"

namespace banyan {

// The section `added_tokens` of tokenizer.json: texts that are one token each,
// found in the text before the model sees it.
//
// Those with `normalized` false are found in the text as it is; those with it
// true in the normalized rest, in their own normalized form. At each place the
// longest counts, from the left. `single_word` refuses one that touches a word;
// `lstrip` and `rstrip` take the white space beside it along. `special` says
// what a text of no trust may not contain, and what decoding may leave out.
struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = true;
  bool special = false;
};

// Which tokens are found in a text. A control token is a special one, or one of
// `markup`.
struct TokenSearch {
  bool parse_special = true;             // else special tokens stay text
  std::vector<std::string> markup = {};  // contents
};

// A list of them, in the order of the file, each content and id once.
absl::StatusOr<std::vector<AddedToken>> ReadAddedTokens(const JsonAt& json);

// Finds some of the added tokens in texts.
class TokenFinder {
 public:
  // Finds `tokens` by the texts that stand beside them, none empty. Of equal
  // texts the first counts, special tokens before others.
  TokenFinder(std::vector<AddedToken> tokens, std::vector<std::string> texts);

  // Appends what `piece`, in which no token has been found yet, is cut into.
  // Requires UTF-8.
  void Split(const Piece& piece, const TokenSearch& search,
             std::vector<Piece>& out) const;

 private:
  static constexpr int kNone = -1;

  struct Match {
    const AddedToken* token = nullptr;
    std::size_t end = 0;
  };

  void Insert(const std::string& text, int token);
  int Child(int node, char byte) const;
  // The longest token that begins at `begin`, control tokens outside of the
  // piece's quotes only.
  Match LongestAt(const Piece& piece, const TokenSearch& search,
                  std::size_t begin) const;

  std::vector<AddedToken> tokens_;
  // A trie: the nodes' children by (node, byte), and the token that ends there.
  FlatMap<std::uint64_t, int> children_;
  std::vector<int> ends_;
};

// The section `post_processor` of tokenizer.json: the ids that go around those
// of a text. Known: null, ByteLevel (which moves offsets only), Sequence,
// TemplateProcessing (its template for one text).
struct PostProcessor {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

// Refuses what it does not know. Whether the ids exist is for the caller.
absl::StatusOr<PostProcessor> ReadPostProcessor(const JsonAt& json);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STEPS_ADDED_TOKENS_H_
