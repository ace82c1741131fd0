#include "core/json/json_tokens.h"

#include <cstddef>

#include "absl/strings/string_view.h"

namespace banyan {

std::size_t JsonTextEnd(absl::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

std::size_t JsonNumberEnd(absl::string_view text, std::size_t at) {
  const auto next = [&] { return at < text.size() ? text[at] : '\0'; };
  const auto skip_digits = [&] {
    while (next() >= '0' && next() <= '9') ++at;
  };
  if (next() == '-') ++at;
  if (next() == '0')
    ++at;
  else
    skip_digits();
  if (next() == '.') {
    ++at;
    skip_digits();
  }
  if (next() == 'e' || next() == 'E') {
    ++at;
    if (next() == '+' || next() == '-') ++at;
    skip_digits();
  }
  return at;
}

}  // namespace banyan
