// TokenStream: a text as it is generated, in colours that tell where each token
// came from.
//
// ShownToken() is a token as tables have it.
#ifndef BANYAN_EXPERIMENTS_TEXTS_TOKEN_STREAM_H_
#define BANYAN_EXPERIMENTS_TEXTS_TOKEN_STREAM_H_

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/tokenizer/tokenizer.h"
#include "decode/sequence.h"

namespace banyan {

// Tokens in tables.

// The token as the tokenizer's file writes it, control characters as \x0a;
// empty without a tokenizer or if the id has no token.
std::string ShownToken(const Tokenizer* tokenizer, TokenId id);

// Where a token came from.
enum class Ink {
  kPlain,      // from the target alone: nothing was drafted
  kPrompt,     // given
  kAccepted,   // drafted and kept
  kCorrected,  // the target's, after what was drafted at its place was refused
  kBonus,      // the target's, after everything drafted on its path was kept
};

// The origin of record.emitted[i].
Ink InkOf(const RoundRecord& record, std::size_t i);

// `text` in the terminal's colour of `ink`.
std::string Painted(absl::string_view text, Ink ink);

// Calls come as Prompt, Emit for each round, Finish. Text that is held back
// because the next token may change it gets the colour of the token that frees
// it. Special tokens give no text. Without a tokenizer the tokens are written
// as ids with commas between them.
class TokenStream {
 public:
  struct Options {
    const Tokenizer* tokenizer = nullptr;  // must outlive the stream
    std::ostream* out = nullptr;           // null: nothing is written
    bool colour = false;
    bool writes_prompt = true;
  };

  explicit TokenStream(const Options& options);

  // Each fails on an id without token, or with Internal if the output cannot be
  // written; what was given before is flushed.
  absl::Status Prompt(absl::Span<const TokenId> tokens);
  absl::Status Emit(const RoundRecord& record);
  // What was held back, and the end of the line.
  absl::Status Finish();

  // What has come after the prompt; empty without a tokenizer.
  const std::string& text() const { return text_; }

 private:
  absl::Status Push(TokenId token, Ink ink);
  void Write(absl::string_view piece, Ink ink);
  absl::Status Flush();

  Options options_;
  std::optional<StreamDecoder> decoder_;
  std::string text_;
  bool first_ = true;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_TEXTS_TOKEN_STREAM_H_
