#include "core/text/columns.h"

#include <utf8proc.h>

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace banyan {
namespace {

constexpr utf8proc_int32_t kReplacement = 0xFFFD;
constexpr utf8proc_int32_t kPictures = 0x2400;  // of the controls, in order
constexpr utf8proc_int32_t kDeletePicture = 0x2421;

// Takes one character off the front of a text that is not empty; a byte that
// begins no valid sequence is taken alone.
utf8proc_int32_t Take(absl::string_view& text) {
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &code);
  text.remove_prefix(bytes > 0 ? static_cast<std::size_t>(bytes) : 1);
  return bytes > 0 ? code : kReplacement;
}

utf8proc_int32_t Drawable(utf8proc_int32_t code) {
  if (code < 0x20) return kPictures + code;
  if (code == 0x7F) return kDeletePicture;
  const bool control = code >= 0x80 && code < 0xA0;
  const bool no_character = (code & 0xFFFE) == 0xFFFE;
  return control || no_character ? kReplacement : code;
}

int Width(utf8proc_int32_t code) {
  const int width = utf8proc_charwidth(code);
  if (width > 0) return width;
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
      return 0;
    default:
      return 1;  // a terminal draws a box
  }
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string result;
  while (!text.empty()) {
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t size =
        utf8proc_encode_char(Drawable(Take(text)), bytes);
    result.append(bytes, bytes + size);
  }
  return result;
}

int Columns(absl::string_view text) {
  int columns = 0;
  while (!text.empty()) columns += Width(Drawable(Take(text)));
  return columns;
}

std::string Padded(std::string text, int columns) {
  const int missing = columns - Columns(text);
  if (missing > 0) text.append(static_cast<std::size_t>(missing), ' ');
  return text;
}

}  // namespace banyan
