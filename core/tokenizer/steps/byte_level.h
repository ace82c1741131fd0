// The map of byte-level BPE: each of the 256 bytes is one printable character,
// so that every text can be written in the vocabulary. 33..126, 161..172 and
// 174..255 stand for themselves, the other 68 are 256, 257, ... in order.
#ifndef BANYAN_CORE_TOKENIZER_STEPS_BYTE_LEVEL_H_
#define BANYAN_CORE_TOKENIZER_STEPS_BYTE_LEVEL_H_

#include <string>

#include "absl/strings/string_view.h"

namespace banyan {

// Each byte of `bytes` as its character.
std::string BytesToCharacters(absl::string_view bytes);

// The bytes whose characters make up `text`; the bytes of `text` itself if one
// of its characters stands for no byte. Requires UTF-8.
std::string CharactersToBytes(absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STEPS_BYTE_LEVEL_H_
