// JsonFault: where and why a text is not JSON. The messages of the JSON library
// are meant for programmers.
#ifndef BANYAN_CORE_JSON_JSON_FAULT_H_
#define BANYAN_CORE_JSON_JSON_FAULT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace banyan {

// The text, cut after some `limit` bytes if it is longer, never within a
// character. Requires UTF-8.
std::string Shortened(absl::string_view text, std::size_t limit);

// What might have come in the place of the fault.
struct JsonExpected {
  absl::string_view words;
  bool is_text = false;  // a text is one of them
};

struct JsonFault {
  std::size_t offset = 0;  // in the text
  std::string message;     // "expected ..., found ..."
};

// Returns the fault of the token that begins at `begin`. Reading stopped at
// `stopped`, which is after `begin` if the token is a text between quotes.
JsonFault FindJsonFault(absl::string_view text, std::size_t begin,
                        std::size_t stopped, const JsonExpected& expected);

}  // namespace banyan

#endif  // BANYAN_CORE_JSON_JSON_FAULT_H_
