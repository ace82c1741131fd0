#include "core/json/json_fault.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace banyan {
namespace {

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text), "'");
}

bool IsAscii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

// A name, a number or a single sign, as it stands there.
std::string FoundAt(absl::string_view text, std::size_t begin) {
  constexpr std::size_t kShown = 40;
  constexpr absl::string_view kWord =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-.";
  if (begin >= text.size()) return "the end";
  if (text[begin] == '"') return "a text";
  const std::size_t end =
      std::min(text.find_first_not_of(kWord, begin), text.size());
  return Quoted(
      text.substr(begin, std::clamp(end - begin, std::size_t{1}, kShown)));
}

// Where a text between quotes goes wrong, `stopped` being the offset of the
// first byte that it cannot have.
JsonFault FaultWithin(absl::string_view text, std::size_t begin,
                      std::size_t stopped) {
  if (stopped >= text.size())
    return {begin, "expected a closing quote for this text, found the end"};
  const auto fault = [text](std::size_t at, absl::string_view words) {
    return JsonFault{at, absl::StrCat(words, Quoted(text.substr(at, 1)))};
  };
  if (static_cast<unsigned char>(text[stopped]) < ' ')
    return fault(stopped,
                 "expected a closing quote or an escape, found the control "
                 "character ");
  const absl::string_view before = text.substr(begin, stopped - begin);
  const std::size_t backslashes =
      before.size() - 1 - before.find_last_not_of('\\');
  const bool is_whole = IsAscii(text[stopped]) && IsAscii(before.back());
  if (backslashes % 2 == 0 && !is_whole) {
    // A character that ends too early is at fault, not what follows it.
    if (IsAscii(text[stopped]))
      while ((text[--stopped] & 0xC0) == 0x80) continue;
    return fault(stopped, "expected UTF-8, found the byte ");
  }
  const std::size_t escape = begin + before.rfind('\\');
  return {
      escape,
      absl::StrCat("expected an escape that JSON has, found '\\",
                   absl::CHexEscape(text.substr(escape + 1, stopped - escape)),
                   "'")};
}

}  // namespace

std::string Shortened(absl::string_view text, std::size_t limit) {
  const bool is_cut = text.size() > limit;
  while (is_cut && limit > 0 && (text[limit] & 0xC0) == 0x80) --limit;
  return absl::StrCat(text.substr(0, limit), is_cut ? "..." : "");
}

JsonFault FindJsonFault(absl::string_view text, std::size_t begin,
                        std::size_t stopped, const JsonExpected& expected) {
  if (expected.is_text && begin < text.size() && text[begin] == '"')
    return FaultWithin(text, begin, stopped);
  return {begin, absl::StrCat("expected ", expected.words, ", found ",
                              FoundAt(text, begin))};
}

}  // namespace banyan
