// Where the tokens of JSON begin and end. The library that reads them does not
// tell.
#ifndef BANYAN_CORE_JSON_JSON_TOKENS_H_
#define BANYAN_CORE_JSON_JSON_TOKENS_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace banyan {

inline bool IsJsonSpace(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

// The offset of the first byte from `at` on that is no space, or the end.
inline std::size_t SkipJsonSpace(absl::string_view text, std::size_t at) {
  while (at < text.size() && IsJsonSpace(text[at])) ++at;
  return at;
}

// The ends of a text between quotes and of a number that begin at `at`. Require
// that the library has found them to be without fault.
std::size_t JsonTextEnd(absl::string_view text, std::size_t at);
std::size_t JsonNumberEnd(absl::string_view text, std::size_t at);

}  // namespace banyan

#endif  // BANYAN_CORE_JSON_JSON_TOKENS_H_
