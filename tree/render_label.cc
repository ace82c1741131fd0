#include "tree/render_label.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace banyan {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kPictures = 0x2400;  // of the control characters, in order
constexpr char32_t kDeletePicture = 0x2421;

// Takes one character off the front of a text that is not empty; a byte that
// begins no valid sequence is taken alone.
char32_t Take(absl::string_view& text) {
  const auto byte = [&text](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned first = byte(0);
  // By length of the sequence: what its first byte looks like, and the smallest
  // code that needs it.
  struct Form {
    unsigned mask, lead;
    char32_t least;
  };
  constexpr Form kForms[] = {{0x80, 0x00, 0x0},
                             {0xE0, 0xC0, 0x80},
                             {0xF0, 0xE0, 0x800},
                             {0xF8, 0xF0, 0x10000}};
  for (std::size_t more = 0; more < 4 && more < text.size(); ++more) {
    const Form& form = kForms[more];
    if ((first & form.mask) != form.lead) continue;
    char32_t code = first & ~form.mask;
    bool valid = true;
    for (std::size_t i = 1; i <= more; ++i) {
      valid = valid && (byte(i) & 0xC0U) == 0x80U;
      code = code << 6 | (byte(i) & 0x3FU);
    }
    if (!valid || code < form.least) break;
    text.remove_prefix(more + 1);
    return code;
  }
  text.remove_prefix(1);
  return kReplacement;
}

char32_t Drawable(char32_t code) {
  if (code < 0x20) return kPictures + code;
  if (code == 0x7F) return kDeletePicture;
  const bool control = code >= 0x80 && code < 0xA0;
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  const bool no_character = (code & 0xFFFE) == 0xFFFE || code > 0x10FFFF;
  return control || surrogate || no_character ? kReplacement : code;
}

void Append(char32_t code, std::string& text) {
  const auto tail = [&](int shift) {
    text += static_cast<char>(0x80 | (code >> shift & 0x3F));
  };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string result;
  while (!text.empty()) Append(Drawable(Take(text)), result);
  return result;
}

int Columns(absl::string_view text) {
  int columns = 0;
  while (!text.empty()) columns += Drawable(Take(text)) < 0x2E80 ? 1 : 2;
  return columns;
}

std::string XmlEscaped(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"&", "&amp;"},
                                               {"<", "&lt;"},
                                               {">", "&gt;"},
                                               {"\"", "&quot;"},
                                               {"'", "&apos;"}});
}

}  // namespace banyan
