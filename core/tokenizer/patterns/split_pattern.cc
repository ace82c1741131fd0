#include "core/tokenizer/patterns/split_pattern.h"

#include <array>

#include "core/tokenizer/patterns/unicode.h"

namespace banyan {
namespace {

constexpr absl::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)"
    R"(|\s+(?!\S)|\s+)";
constexpr absl::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr absl::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

enum class Class : unsigned char { kEnd, kLetter, kNumber, kSpace, kOther };

constexpr Class ClassOfAscii(std::size_t c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Class::kLetter;
  if (c >= '0' && c <= '9') return Class::kNumber;
  if (c == ' ' || (c >= '\t' && c <= '\r')) return Class::kSpace;
  return Class::kOther;
}

constexpr std::array<Class, 0x80> MakeAsciiClasses() {
  std::array<Class, 0x80> classes{};
  for (std::size_t c = 0; c < classes.size(); ++c) classes[c] = ClassOfAscii(c);
  return classes;
}

// Most texts are of these, and asking Unicode for each is slower than PCRE2.
constexpr std::array<Class, 0x80> kAsciiClasses = MakeAsciiClasses();

Class ClassAt(absl::string_view text, std::size_t at) {
  if (at >= text.size()) return Class::kEnd;
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < kAsciiClasses.size()) return kAsciiClasses[first];
  const char32_t value = CodePointAt(text, at).value;
  if (IsLetter(value)) return Class::kLetter;
  if (IsNumber(value)) return Class::kNumber;
  if (IsSpace(value)) return Class::kSpace;
  return Class::kOther;
}

std::size_t After(absl::string_view text, std::size_t at) {
  return at + CodePointAt(text, at).bytes;
}

// The end of the run of `kind` that begins at `at`, after at most `most`
// characters.
std::size_t RunEnd(absl::string_view text, std::size_t at, Class kind,
                   std::size_t most = absl::string_view::npos) {
  while (most > 0 && ClassAt(text, at) == kind) {
    at = After(text, at);
    --most;
  }
  return at;
}

char AsciiLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// The end of 's, 't, 're, 've, 'm, 'll or 'd at `at`; `at` if there is none.
// In any case the long s is an s as well.
std::size_t ContractionEnd(absl::string_view text, std::size_t at,
                           bool any_case) {
  if (text[at] != '\'') return at;
  constexpr absl::string_view kLongS = "\xC5\xBF";
  const absl::string_view rest = text.substr(at + 1);
  if (any_case && rest.substr(0, kLongS.size()) == kLongS)
    return at + 1 + kLongS.size();
  const auto letter = [&](std::size_t i) {
    const char c = i < rest.size() ? rest[i] : ' ';
    return any_case ? AsciiLower(c) : c;
  };
  const char first = letter(0);
  if (first == 's' || first == 't' || first == 'm' || first == 'd')
    return at + 2;
  const char second = letter(1);
  if ((second == 'e' && (first == 'r' || first == 'v')) ||
      (second == 'l' && first == 'l'))
    return at + 3;
  return at;
}

bool IsNewline(char c) { return c == '\r' || c == '\n'; }

// The end of the white space that begins at `begin`.
std::size_t SpaceEnd(absl::string_view text, std::size_t begin,
                     bool cuts_at_newline) {
  const std::size_t end = RunEnd(text, begin, Class::kSpace);
  if (cuts_at_newline)
    for (std::size_t i = end; i > begin; --i)
      if (IsNewline(text[i - 1])) return i;
  if (end == text.size()) return end;
  const std::size_t last = end - CodePointBefore(text, end).bytes;
  return last > begin ? last : end;
}

std::size_t Gpt2WordEnd(absl::string_view text, std::size_t begin) {
  const std::size_t contraction = ContractionEnd(text, begin, false);
  if (contraction > begin) return contraction;
  const std::size_t at = begin + (text[begin] == ' ' ? 1 : 0);
  const Class kind = ClassAt(text, at);
  if (kind == Class::kSpace || kind == Class::kEnd)
    return SpaceEnd(text, begin, false);
  return RunEnd(text, at, kind);
}

std::size_t Llama3WordEnd(absl::string_view text, std::size_t begin,
                          std::size_t most_numbers) {
  const std::size_t contraction = ContractionEnd(text, begin, true);
  if (contraction > begin) return contraction;
  const Class kind = ClassAt(text, begin);
  if (kind == Class::kLetter) return RunEnd(text, begin, Class::kLetter);
  if (kind == Class::kNumber)
    return RunEnd(text, begin, Class::kNumber, most_numbers);
  const std::size_t second = After(text, begin);
  if (!IsNewline(text[begin]) && ClassAt(text, second) == Class::kLetter)
    return RunEnd(text, second, Class::kLetter);
  const std::size_t at = begin + (text[begin] == ' ' ? 1 : 0);
  if (ClassAt(text, at) != Class::kOther) return SpaceEnd(text, begin, true);
  std::size_t end = RunEnd(text, at, Class::kOther);
  while (end < text.size() && IsNewline(text[end])) ++end;
  return end;
}

}  // namespace

absl::string_view RegexOf(SplitPattern pattern) {
  switch (pattern) {
    case SplitPattern::kGpt2:
      return kGpt2;
    case SplitPattern::kLlama3:
      return kLlama3;
    case SplitPattern::kQwen2:
      return kQwen2;
  }
  return "";
}

std::optional<SplitPattern> FindSplitPattern(absl::string_view regex) {
  for (const SplitPattern pattern :
       {SplitPattern::kGpt2, SplitPattern::kLlama3, SplitPattern::kQwen2})
    if (regex == RegexOf(pattern)) return pattern;
  return std::nullopt;
}

std::size_t WordEnd(SplitPattern pattern, absl::string_view text,
                    std::size_t begin) {
  switch (pattern) {
    case SplitPattern::kGpt2:
      return Gpt2WordEnd(text, begin);
    case SplitPattern::kLlama3:
      return Llama3WordEnd(text, begin, 3);
    case SplitPattern::kQwen2:
      return Llama3WordEnd(text, begin, 1);
  }
  return text.size();
}

}  // namespace banyan
