// GrowingText: tokenizes a text that grows, and tells which tokens are settled,
// final however the text goes on, without reading the whole text again.
//
// Settled tokens. Text T has the tokens E(T), and S follows T. Either a token
// of E(T + S) ends where T ends, or one crosses that place: it begins at some
// j, and T[j:] is the beginning of a longer token. In byte-pair encoding, the
// text up to the end of a token has the same tokens when it is encoded alone,
// because no merge crossed that place. So E(T + S) begins with E(T) or with
// E(T[:j]) for such a j, and the beginning that all of these share is settled.
// Patterns cut a text into words first. The words of GPT-2, Llama-3 and Qwen2
// keep this property. A pattern that looks further ahead, or a normalizer that
// joins characters, can break it; settled() then falls back to the tokens that
// did not change.
//
// Window. Only the last part of the text is read again. The tokens of that
// part, except for some first ones, were found to be those of the whole text.
#ifndef BANYAN_CORE_TOKENIZER_GROWING_TEXT_H_
#define BANYAN_CORE_TOKENIZER_GROWING_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/tokenizer/vocabulary.h"

namespace banyan {

// For one thread.
class GrowingText {
 public:
  // `spellings` are those of the tokenizer that gives the tokens; they outlive
  // it.
  explicit GrowingText(const Spellings& spellings) : spellings_(&spellings) {}

  // The text goes on by whole characters, in UTF-8. A character that the
  // vocabulary can write in no way is left out. Fails as Tokenizer::Encode.
  absl::Status Append(absl::string_view more);
  // Ends the text, then adds `token` if there is one. What is appended from now
  // on is read as another text.
  void End(std::optional<TokenId> token);

  const std::vector<TokenId>& tokens() const { return tokens_; }
  // How many of the first tokens are settled.
  int settled() const { return settled_; }

  // One that goes on from the same text by itself. Its tokens begin somewhere
  // in those of this one, whose last they are; it costs the same however long
  // the text is.
  GrowingText Branch() const;

 private:
  absl::StatusOr<std::vector<TokenId>> Encode(absl::string_view text) const;
  std::string Writable(absl::string_view text) const;
  int CountSettled(absl::Span<const TokenId> ids) const;
  void MoveOn(absl::Span<const TokenId> ids, int settled);

  const Spellings* spellings_;
  std::vector<TokenId> tokens_;
  int settled_ = 0;
  std::string window_;    // the last part of the text, which is read again
  bool is_whole_ = true;  // it is the whole text
  std::size_t limit_ = kLongest;  // from which on it moves
  int first_ = 0;                 // of tokens_ that are before the window's
  int dropped_ = 0;  // the window's first tokens, which are not the text's

  // A window longer than kLongest bytes moves on and keeps kKept bytes. A short
  // window is cheap to read again, and moves should be rare.
  static constexpr std::size_t kLongest = 160;
  static constexpr std::size_t kKept = 80;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_GROWING_TEXT_H_
