// What a text is on its way to token ids.
#ifndef BANYAN_CORE_TOKENIZER_STEPS_PIECE_H_
#define BANYAN_CORE_TOKENIZER_STEPS_PIECE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/token.h"

namespace banyan {

struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A part of the text: an added token found in it, or text still to be cut. No
// piece is empty.
struct Piece {
  std::string text;
  bool at_start = false;  // it begins where the whole text begins
  std::optional<TokenId> token = std::nullopt;
  // Bytes of a chat's messages, in order and disjoint. No control token is
  // found in them.
  std::vector<ByteRange> quoted = {};
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STEPS_PIECE_H_
