// RecentGrams: what followed each short context in the tokens read last.
//
// A gram is a context of `shortest` to `longest` tokens and the token that
// followed it in the same text. Counted are the grams that lie wholly among the
// last `history` tokens: one that begins with a token which leaves them is
// taken back, so that the counts are always those of a recount. Contexts are
// kept as they are, not as hashes, so two of them never share counts.
//
// A token costs `longest` look-ups when it is read and as many when it leaves;
// asking costs one.
#ifndef BANYAN_DRAFTERS_TEXT_RECENT_GRAMS_H_
#define BANYAN_DRAFTERS_TEXT_RECENT_GRAMS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/base/token.h"
#include "core/model/context.h"

namespace banyan {

struct GramOptions {
  // Tokens outside the vocabulary (a begin token) are never a continuation.
  int vocab_size = 0;
  int shortest = 1;  // context, in tokens
  int longest = 1;
  int history = 0;  // tokens, more than `longest`; 0: all
};

// A token that followed a context.
struct Continuation {
  TokenId token = 0;
  int count = 0;               // in the window: at least 1
  std::int64_t last_seen = 0;  // which token it was of all that were read
};

class RecentGrams {
 public:
  // Ends the program on options that make no sense.
  explicit RecentGrams(const GramOptions& options);

  // Forgets all that was read.
  void Clear();
  // What is read next belongs to a new text.
  void BeginText();
  // Reads what `text` has beyond what was read of it: texts only grow.
  void Follow(absl::Span<const TokenId> text);

  // How many tokens are in the window, and how many have left it.
  std::int64_t held() const {
    return static_cast<std::int64_t>(window_.size());
  }
  std::int64_t left() const { return appended_ - held(); }

  // What followed a context, by rising token; empty if nothing did. Valid until
  // something is read.
  absl::Span<const Continuation> After(absl::Span<const TokenId> context) const;
  // Between 0 and 1, both left out; larger for what was seen later.
  double Recency(const Continuation& seen) const;

 private:
  // A token, and how many of its text were read before it.
  struct Read {
    TokenId token;
    std::int64_t before;
  };
  using Gram = absl::InlinedVector<TokenId, 8>;
  using Row = std::vector<Continuation>;

  void Append(TokenId token);
  void DropOldest();
  // The gram whose context of `size` tokens begins at place `first` of the
  // window.
  void Count(std::size_t first, std::size_t size);
  void TakeBack(std::size_t first, std::size_t size);
  Gram GramAt(std::size_t first, std::size_t size) const;
  bool IsContinuation(TokenId token) const;

  GramOptions options_;
  std::deque<Read> window_;
  std::int64_t text_length_ = 0;  // read of the current text
  std::int64_t appended_ = 0;     // read at all
  absl::flat_hash_map<Gram, Row> rows_;
};

// Returns the last `count` tokens of the committed text followed by `path`;
// fewer if the text is shorter.
std::vector<TokenId> LastTokens(const Context& context,
                                absl::Span<const TokenId> path, int count);

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_RECENT_GRAMS_H_
