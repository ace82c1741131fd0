// The three regular expressions that cut text into the words of most models, as
// scanners written by hand: twice as fast as PCRE2, which matches all others
// (regex.h). A pattern is known by its text.
//
// Every character of a text belongs to a word. With L letters, N numbers, S
// white space, O all else, at each place the first of these that fits:
//
//   gpt2     's 't 're 've 'm 'll 'd |  ?L+ |  ?N+ |  ?O+
//   llama3   the same in any case    | [^\r\nLN]?L+ | N{1,3} |  ?O+[\r\n]*
//            | S*[\r\n]+
//   qwen2    as llama3, with single numbers
//
// and then for all: S+ but for its last character if something follows, or S+.
#ifndef BANYAN_CORE_TOKENIZER_PATTERNS_SPLIT_PATTERN_H_
#define BANYAN_CORE_TOKENIZER_PATTERNS_SPLIT_PATTERN_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"

namespace banyan {

enum class SplitPattern { kGpt2, kLlama3, kQwen2 };

// The pattern whose regular expression is `regex`, if it is one of the three.
std::optional<SplitPattern> FindSplitPattern(absl::string_view regex);

// The regular expression of a pattern.
absl::string_view RegexOf(SplitPattern pattern);

// The end of the word that begins at `begin`. Requires UTF-8 and the beginning
// of a character.
std::size_t WordEnd(SplitPattern pattern, absl::string_view text,
                    std::size_t begin);

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_PATTERNS_SPLIT_PATTERN_H_
