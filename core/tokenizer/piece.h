// What a text is on its way to token ids.
#ifndef BANYAN_CORE_TOKENIZER_PIECE_H_
#define BANYAN_CORE_TOKENIZER_PIECE_H_

#include <optional>
#include <string>

#include "core/base/token.h"

namespace banyan {

// A part of the text: an added token found in it, or text still to be cut. No
// piece is empty.
struct Piece {
  std::string text;
  bool at_start = false;  // it begins where the whole text begins
  std::optional<TokenId> token = std::nullopt;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_PIECE_H_
