// The one way into JSON: every text is read here, so that what is wrong with it
// is told in one way, whoever reads.
//
// Refused, as "FILE:LINE:COLUMN: what is wrong": what is not JSON (comments, a
// comma too many, NaN and text after the value are not), numbers beyond those
// of a double, what is not UTF-8, a key that its object has already, and more
// than 64 levels of lists and objects. A byte order mark is passed over.
//
// Who wants a tree takes core/json/json_value.h; events are for texts that are
// too large for one, and for values whose places in the text are to be told.
#ifndef BANYAN_CORE_JSON_JSON_READER_H_
#define BANYAN_CORE_JSON_JSON_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "core/base/common.h"
#include "core/base/params.h"

namespace banyan {

// JsonFault: where and why a text is not JSON. The messages of the JSON library
// are meant for programmers.

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

// Where the tokens of JSON begin and end. The library that reads them does not
// tell.

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

// A value that is neither list nor object. A whole number is signed if it is
// below 0, unsigned from there on, and a double beyond 64 bits.
using JsonScalar = std::variant<std::nullptr_t, bool, std::int64_t,
                                std::uint64_t, double, std::string>;

// Hears what a text holds, in its order. An error ends the reading.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual absl::Status OnScalar(JsonScalar value) = 0;
  // Each key of an object comes once, before its value.
  virtual absl::Status OnKey(std::string key) = 0;
  virtual absl::Status OnList() = 0;
  virtual absl::Status OnListEnd() = 0;
  virtual absl::Status OnObject() = 0;
  virtual absl::Status OnObjectEnd() = 0;
};

// What a scalar is, for messages: "null", "true or false", "a number" or "a
// text".
absl::string_view KindOf(const JsonScalar& value);
// The scalar as JSON. Bytes that are not UTF-8 become U+FFFD, and numbers that
// are not finite null.
std::string Written(const JsonScalar& value);

class JsonReader {
 public:
  // `file` names the text in messages, where it begins at `first_line`. The
  // text must outlive the reader.
  JsonReader(absl::string_view text, const std::string& file,
             int first_line = 1);

  // Reads the whole text, once. Fails with InvalidArgument on what is refused,
  // or with the first error of `events`.
  absl::Status Read(JsonEvents& events);

  // During an event: where in the text its token begins, and the token.
  std::size_t token_begin() const { return begin_; }
  absl::string_view token() const {
    return text_.substr(begin_, end_ - begin_);
  }
  // The line and column of the byte at `offset` of the text.
  Origin At(std::size_t offset) const;

 private:
  class Listener;

  absl::string_view text_;
  std::shared_ptr<const std::string> file_;
  int first_line_;
  bool checks_keys_ = true;
  std::size_t begin_ = 0;  // the token read last
  std::size_t end_ = 0;
};

}  // namespace banyan

#endif  // BANYAN_CORE_JSON_JSON_READER_H_
