#include "core/terminal/columns.h"

#include <utf8proc.h>

#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "core/base/common.h"

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

// Marks that turn the direction of writing, and ends of lines that are none on
// a terminal.
bool Misleads(utf8proc_int32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

// How a character is spelt out that is `code`, or bytes that are none; empty:
// it stays.
std::string Spelt(utf8proc_int32_t code, absl::string_view bytes) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  const bool is_control = code < 0x20 || code == 0x7F;
  if (is_control || (code == kReplacement && bytes.size() == 1))
    return absl::StrFormat("\\x%02x", static_cast<unsigned char>(bytes[0]));
  if ((code >= 0x80 && code < 0xA0) || Misleads(code))
    return absl::StrFormat("\\u%04x", code);
  return "";
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

std::string Visible(absl::string_view text) {
  std::string result;
  while (!text.empty()) {
    const absl::string_view all = text;
    const utf8proc_int32_t code = Take(text);
    const absl::string_view bytes = all.substr(0, all.size() - text.size());
    const std::string spelt = Spelt(code, bytes);
    result.append(spelt.empty() ? std::string(bytes) : spelt);
  }
  return result;
}

std::string VisibleLines(absl::string_view text) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n'))
    lines.push_back(Visible(line));
  return absl::StrJoin(lines, "\n");
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

std::vector<std::string> Wrapped(absl::string_view text, int columns) {
  std::vector<std::string> lines;
  int taken = 0;  // of the last line
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    const int width = Columns(word);
    if (lines.empty() || taken + 1 + width > columns) {
      lines.emplace_back(word);
      taken = width;
    } else {
      absl::StrAppend(&lines.back(), " ", word);
      taken += 1 + width;
    }
  }
  return lines;
}

namespace {

// Signs that mean nothing to a shell, wherever they are in a word.
constexpr absl::string_view kPlainSigns = "%+,-./:@_";

bool IsPlain(absl::string_view text) {
  if (text.empty()) return false;  // no word without quotes
  for (const char c : text)
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
        kPlainSigns.find(c) == absl::string_view::npos)
      return false;
  return true;
}

}  // namespace

std::string ShellWord(absl::string_view text) {
  if (IsPlain(text)) return std::string(text);
  // A quote ends the quoted part, comes escaped, and begins another part.
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace banyan
