// SuccessorTable: for each token, the few tokens that were ranked first after
// it when a row of it was last seen.
//
// It holds vocab_size * width token ids of four bytes and nothing else: 64 KiB
// for 2,048 tokens and a width of 8, 4 MiB for 131,072.
#ifndef BANYAN_DRAFTERS_TEXT_RECYCLING_SUCCESSOR_TABLE_H_
#define BANYAN_DRAFTERS_TEXT_RECYCLING_SUCCESSOR_TABLE_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/base/token.h"

namespace banyan {

class SuccessorTable {
 public:
  // Of nothing known.
  SuccessorTable(int vocab_size, int width)
      : vocab_size_(vocab_size),
        width_(width),
        ids_(static_cast<std::size_t>(vocab_size) *
                 static_cast<std::size_t>(width),
             kNone) {}

  bool Has(TokenId token) const { return token >= 0 && token < vocab_size_; }
  int width() const { return width_; }
  // How many tokens something is known of.
  int known() const { return known_; }

  // The best first; none where nothing is known, as of a token outside the
  // vocabulary.
  absl::Span<const TokenId> After(TokenId token) const;
  // In the place of what was known. Requires a token of the vocabulary and
  // between 1 and width() successors.
  void Set(TokenId token, absl::Span<const TokenId> ranked);

 private:
  static constexpr TokenId kNone = -1;

  int vocab_size_;
  int width_;
  int known_ = 0;
  std::vector<TokenId> ids_;  // rows of width_, filled up with kNone
};

}  // namespace banyan

#endif  // BANYAN_DRAFTERS_TEXT_RECYCLING_SUCCESSOR_TABLE_H_
