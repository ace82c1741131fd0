#include "core/text/shell_word.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace banyan {
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
