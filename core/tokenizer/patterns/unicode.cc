#include "core/tokenizer/patterns/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/base/check.h"

namespace banyan {
namespace {

const utf8proc_uint8_t* Bytes(absl::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

utf8proc_category_t Category(char32_t value) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(value));
}

bool IsContinuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace

CodePoint CodePointAt(absl::string_view text, std::size_t offset) {
  const auto first = static_cast<unsigned char>(text[offset]);
  if (first < 0x80) return {first, 1};
  utf8proc_int32_t value = 0;
  const utf8proc_ssize_t bytes = utf8proc_iterate(
      Bytes(text) + offset, static_cast<utf8proc_ssize_t>(text.size() - offset),
      &value);
  Check(bytes > 0, "the text is UTF-8");
  return {static_cast<char32_t>(value), static_cast<std::size_t>(bytes)};
}

CodePoint CodePointBefore(absl::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && IsContinuation(text[begin])) --begin;
  return CodePointAt(text, begin);
}

std::size_t FindInvalidUtf8(absl::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bytes = WholeCharacter(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return absl::string_view::npos;
}

absl::Status CheckIsUtf8(absl::string_view text) {
  const std::size_t bad = FindInvalidUtf8(text);
  if (bad == absl::string_view::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the text is not UTF-8 at byte ", bad));
}

std::size_t WholeCharacter(absl::string_view text) {
  if (text.empty()) return 0;
  if (static_cast<unsigned char>(text[0]) < 0x80) return 1;
  utf8proc_int32_t value = 0;
  const utf8proc_ssize_t bytes = utf8proc_iterate(
      Bytes(text), static_cast<utf8proc_ssize_t>(text.size()), &value);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

// The table of well-formed sequences, Unicode 15, 3.9 D92.
std::size_t BrokenCharacter(absl::string_view text, bool& is_cut) {
  is_cut = false;
  const auto first = static_cast<unsigned char>(text[0]);
  std::size_t length = 0;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (length == 0) return 1;
  const unsigned char low =
      first == 0xE0 ? 0xA0 : (first == 0xF0 ? 0x90 : 0x80);
  const unsigned char high =
      first == 0xED ? 0x9F : (first == 0xF4 ? 0x8F : 0xBF);
  std::size_t good = 1;
  while (good < std::min(length, text.size())) {
    const auto byte = static_cast<unsigned char>(text[good]);
    if (byte < (good == 1 ? low : 0x80) || byte > (good == 1 ? high : 0xBF))
      return good;
    ++good;
  }
  is_cut = good < length;
  return good;
}

std::string TakeCharacters(std::string& bytes, bool all) {
  std::string text;
  absl::string_view rest = bytes;
  while (!rest.empty()) {
    std::size_t size = WholeCharacter(rest);
    if (size > 0) {
      absl::StrAppend(&text, rest.substr(0, size));
    } else {
      bool is_cut = false;
      size = BrokenCharacter(rest, is_cut);
      if (is_cut && !all) break;
      absl::StrAppend(&text, kReplacementCharacter);
    }
    rest.remove_prefix(size);
  }
  bytes = std::string(rest);
  return text;
}

bool IsLetter(char32_t value) {
  switch (Category(value)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

bool IsNumber(char32_t value) {
  switch (Category(value)) {
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return false;
  }
}

bool IsSpace(char32_t value) {
  if (value < 0x80) return value == ' ' || (value >= 9 && value <= 13);
  return value == 0x85 || value == 0xA0 || value == 0x1680 ||
         (value >= 0x2000 && value <= 0x200A) || value == 0x2028 ||
         value == 0x2029 || value == 0x202F || value == 0x205F ||
         value == 0x3000;
}

bool IsWord(char32_t value) {
  if (IsLetter(value) || value == 0x200C || value == 0x200D) return true;
  switch (Category(value)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    case UTF8PROC_CATEGORY_SO:  // the alphabetic ones: letters in circles,
      return (value >= 0x24B6 && value <= 0x24E9) ||  // squares
             (value >= 0x1F130 && value <= 0x1F149) ||
             (value >= 0x1F150 && value <= 0x1F169) ||
             (value >= 0x1F170 && value <= 0x1F189);
    default:
      return false;
  }
}

absl::StatusOr<std::string> Normalize(NormalForm form, absl::string_view text) {
  int options = UTF8PROC_STABLE;
  const bool composes = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  options |= composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kNfkc || form == NormalForm::kNfkd)
    options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t bytes =
      utf8proc_map(Bytes(text), static_cast<utf8proc_ssize_t>(text.size()),
                   &made, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(
      made, &std::free);
  if (bytes < 0)
    return absl::ResourceExhaustedError(absl::StrCat(
        "there is no memory to normalize ", text.size(), " bytes of text"));
  return std::string(reinterpret_cast<const char*>(made),
                     static_cast<std::size_t>(bytes));
}

std::string ReplaceAll(absl::string_view text, absl::string_view pattern,
                       absl::string_view content) {
  std::string result;
  std::size_t begin = 0;
  for (std::size_t at = text.find(pattern); at != absl::string_view::npos;
       at = text.find(pattern, begin)) {
    absl::StrAppend(&result, text.substr(begin, at - begin), content);
    begin = at + pattern.size();
  }
  absl::StrAppend(&result, text.substr(begin));
  return result;
}

}  // namespace banyan
