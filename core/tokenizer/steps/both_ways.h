// Steps that are both pre-tokenizer and decoder: ByteLevel and Metaspace.
#ifndef BANYAN_CORE_TOKENIZER_STEPS_BOTH_WAYS_H_
#define BANYAN_CORE_TOKENIZER_STEPS_BOTH_WAYS_H_

#include <string>

#include "core/base/common.h"
#include "core/json/json_value.h"

namespace banyan {

// The map of byte-level BPE: each of the 256 bytes is one printable character,
// so that every text can be written in the vocabulary. 33..126, 161..172 and
// 174..255 stand for themselves, the other 68 are 256, 257, ... in order.

// Each byte of `bytes` as its character.
std::string BytesToCharacters(absl::string_view bytes);

// The bytes whose characters make up `text`; the bytes of `text` itself if one
// of its characters stands for no byte. Requires UTF-8.
std::string CharactersToBytes(absl::string_view text);

// The keys that Metaspace has both as pre-tokenizer and as decoder.
struct Metaspace {
  // Which pieces of a text get the replacement put before them, unless they
  // begin with it: the one at the start, each between added tokens, or none.
  enum class Prepend { kFirst, kAlways, kNever };

  std::string replacement;  // of a space: one character
  Prepend prepend = Prepend::kAlways;
  bool splits = true;
};

// Also the older form, with add_prefix_space in the place of prepend_scheme.
absl::StatusOr<Metaspace> ReadMetaspace(const JsonAt& json);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_STEPS_BOTH_WAYS_H_
