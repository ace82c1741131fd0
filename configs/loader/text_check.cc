#include "configs/loader/text_check.h"

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"

namespace banyan {
namespace {

unsigned char Byte(absl::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// How many bytes the UTF-8 character that opens `text` (not empty) has; 0 if
// none stands there. The Unicode Standard, table 3-7.
std::size_t CharacterSize(absl::string_view text) {
  const unsigned char lead = Byte(text, 0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if (Byte(text, i) < 0x80 || Byte(text, i) > 0xBF) return 0;
  const unsigned char second = Byte(text, 1);
  const bool too_long =
      (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool too_large = lead == 0xF4 && second > 0x8F;
  return too_long || surrogate || too_large ? 0 : size;
}

// What is wrong with the character that opens `text`; empty if nothing is.
std::string Fault(absl::string_view text) {
  const unsigned char byte = Byte(text, 0);
  const std::string shown =
      absl::StrCat("0x", absl::Hex(byte, absl::kZeroPad2));
  if (CharacterSize(text) == 0)
    return absl::StrCat("byte ", shown, " is not UTF-8");
  if (byte == '\r')
    return text.substr(0, 2) == "\r\n"
               ? ""
               : "a carriage return without a line feed";
  if ((byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7F)
    return absl::StrCat("control character ", shown);
  return "";
}

// Fails if the first line of `text` that is neither empty nor a comment is a
// directive.
absl::Status CheckOpening(absl::string_view text,
                          const std::shared_ptr<const std::string>& file) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // byte order mark
  Origin at{file, 0, 1};
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++at.line;
    if (!line.empty() && line[0] == '%')
      return ErrorAt(at, "directives ('%' lines) are not supported");
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!line.empty() && line[0] != '#') break;
  }
  return absl::OkStatus();
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const std::size_t size = CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

absl::Status CheckText(absl::string_view text,
                       const std::shared_ptr<const std::string>& file) {
  BANYAN_RETURN_IF_ERROR(CheckOpening(text, file));
  Origin at{file, 1, 1};
  while (!text.empty()) {
    const std::string fault = Fault(text);
    if (!fault.empty()) return ErrorAt(at, fault);
    const std::size_t size = CharacterSize(text);
    at.column += static_cast<int>(size);
    if (text[0] == '\n') {
      ++at.line;
      at.column = 1;
    }
    text.remove_prefix(size);
  }
  return absl::OkStatus();
}

}  // namespace banyan
