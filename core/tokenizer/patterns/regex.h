// The regular expressions that cut texts, matched by PCRE2.
#ifndef BANYAN_CORE_TOKENIZER_PATTERNS_REGEX_H_
#define BANYAN_CORE_TOKENIZER_PATTERNS_REGEX_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"

struct pcre2_real_code_8;  // pcre2_code

namespace banyan {

// The regular expressions of tokenizer.json in the words of PCRE2.
//
// The library the files are written for matches with Oniguruma in Ruby's
// syntax, where the same signs mean other things. What differs is rewritten:
//
//   \s \d \w \b        White_Space; Nd; Alphabetic, M, Nd and Pc
//   \h \v              a hexadecimal digit; the vertical tab
//   [a[bc]] [a&&b]     classes within classes, and what two classes share
//   [[:alpha:]] \p{Letter}   names that PCRE2 lacks
//   \p{Han}            characters of the script, not all that it uses
//   (?m:.) ^ $         m lets the dot match line ends; ^ and $ know all lines
//   x{,2} x{2}+ x{2}?  0 to 2; pairs, repeated; a pair or none
//   a(?i)b|c           a(?i:b|c)
//
// Refused, though Oniguruma knows it: options but i and m; \K, \N, \O, \X, \0
// and other letters; comments, conditions, absent groups, names in quotes and
// what they refer to; [[:graph:]] and [[:print:]]. Known to differ: where case
// is ignored Oniguruma takes "ss" for the letter of this sound, and PCRE2 does
// not; and a character that is younger than the Unicode of a library is of no
// class to it.
//
// Reference: Oniguruma 6.9, doc/RE; PCRE2 10.42, pcre2pattern(3).
struct PcrePattern {
  std::string text;  // for the options UTF, UCP and MULTILINE
  // For each byte of `text` the byte of the pattern that it is there for.
  std::vector<std::size_t> origins;
};

// Fails, with PatternError, on what is refused. Whether what is left makes
// sense is for PCRE2's compiler. Requires UTF-8.
absl::StatusOr<PcrePattern> ToPcre(absl::string_view pattern);

// Bytes [begin, end) of a text.
struct RegexMatch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Does not change once made: any number of threads may use one, and copies
// share what is compiled.
class Regex {
 public:
  // A pattern in the language of tokenizer.json. Fails with
  // InvalidArgument "byte N, at '...': what" if it is none, or too large.
  static absl::StatusOr<Regex> Compile(absl::string_view pattern);
  // Matches `text` as it stands, and if it is empty before every character.
  static absl::StatusOr<Regex> Literal(absl::string_view text);

  // The matches from the left, without overlap; an empty one counts unless the
  // one before it ends there. Fails with InvalidArgument if the text is not
  // UTF-8, or if matching takes too much, naming the pattern: it gives up after
  // 10^7 attempts and 16 for each byte from one beginning, or with 256 MiB. A
  // pattern can still take the square of a text's length, as it does elsewhere.
  absl::StatusOr<std::vector<RegexMatch>> FindAll(absl::string_view text) const;

 private:
  Regex(absl::string_view pattern, std::shared_ptr<pcre2_real_code_8> code);

  std::string pattern_;  // as it was given
  std::shared_ptr<pcre2_real_code_8> code_;
};

}  // namespace banyan

#endif  // BANYAN_CORE_TOKENIZER_PATTERNS_REGEX_H_
