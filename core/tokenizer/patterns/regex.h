// The regular expressions that cut texts, matched by PCRE2.
#ifndef BANYAN_CORE_TOKENIZER_PATTERNS_REGEX_H_
#define BANYAN_CORE_TOKENIZER_PATTERNS_REGEX_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct pcre2_real_code_8;  // pcre2_code

namespace banyan {

// Bytes [begin, end) of a text.
struct RegexMatch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Does not change once made: any number of threads may use one, and copies
// share what is compiled.
class Regex {
 public:
  // A pattern in the language of tokenizer.json (regex_dialect.h). Fails with
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
