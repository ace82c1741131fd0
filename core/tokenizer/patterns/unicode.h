// What the tokenizers ask of Unicode: code points, classes, normal forms.
#ifndef BANYAN_CORE_TOKENIZER_PATTERNS_UNICODE_H_
#define BANYAN_CORE_TOKENIZER_PATTERNS_UNICODE_H_

#include <cstddef>
#include <string>

#include "core/base/common.h"

namespace banyan {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;
};

// The code point that begins at `offset`. Requires UTF-8 and an offset at the
// beginning of a character.
CodePoint CodePointAt(absl::string_view text, std::size_t offset);

// The code point that ends before `end`. Requires UTF-8 and end > 0.
CodePoint CodePointBefore(absl::string_view text, std::size_t end);

// The offset of the first byte that is not UTF-8; npos if there is none.
std::size_t FindInvalidUtf8(absl::string_view text);

// InvalidArgument "the text is not UTF-8 at byte N" if it is not.
absl::Status CheckIsUtf8(absl::string_view text);

// The number of bytes of the whole character at the head of `text`, or 0 if
// what stands there is not one.
std::size_t WholeCharacter(absl::string_view text);

// If `text` begins with bytes that are no character: how many of them become
// one U+FFFD (the longest part that begins some character, or one byte). Sets
// `is_cut` if the text ends where more bytes could have made a character.
// Requires text not empty and WholeCharacter(text) == 0.
std::size_t BrokenCharacter(absl::string_view text, bool& is_cut);

// Takes the characters off the head of `bytes`. What can be none becomes
// U+FFFD; a character that still lacks bytes stays, unless `all` is asked for.
std::string TakeCharacters(std::string& bytes, bool all);

inline constexpr char kReplacementCharacter[] = "\xEF\xBF\xBD";  // U+FFFD

// General categories L* and N*.
bool IsLetter(char32_t value);
bool IsNumber(char32_t value);
// The property White_Space: \s of the regular expressions.
bool IsSpace(char32_t value);
// \w of Rust's regex crate: alphabetic, mark, decimal number, connector
// punctuation, joiner.
bool IsWord(char32_t value);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// Fails with ResourceExhausted if there is no memory. Requires UTF-8.
absl::StatusOr<std::string> Normalize(NormalForm form, absl::string_view text);

// `text` with every occurrence of `pattern` replaced, from the left and
// without overlap. Requires a pattern.
std::string ReplaceAll(absl::string_view text, absl::string_view pattern,
                       absl::string_view content);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_PATTERNS_UNICODE_H_
