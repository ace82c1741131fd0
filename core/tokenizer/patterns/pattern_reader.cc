#include "core/tokenizer/patterns/pattern_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/tokenizer/patterns/character_class.h"
#include "core/tokenizer/patterns/unicode.h"

namespace banyan {
namespace {

// Real patterns have two. What reads them recurses.
constexpr int kMaxClassDepth = 16;

constexpr absl::string_view kNeedsCharacters = "a range needs two characters";

bool IsName(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '-' || c == ' ';
  });
}

}  // namespace

absl::Status PatternError(absl::string_view pattern, std::size_t offset,
                          absl::string_view message) {
  constexpr std::size_t kShown = 20;
  std::size_t end = offset;
  while (end < pattern.size() && end - offset < kShown)
    end += CodePointAt(pattern, end).bytes;
  const absl::string_view found = pattern.substr(offset, end - offset);
  return absl::InvalidArgumentError(absl::StrCat(
      "byte ", offset, ", ",
      found.empty() ? "at the end" : absl::StrCat("at '", found, "'"), ": ",
      message));
}

char PatternReader::Peek(std::size_t ahead) const {
  return offset_ + ahead < pattern_.size() ? pattern_[offset_ + ahead] : '\0';
}

bool PatternReader::Take(absl::string_view text) {
  if (!absl::StartsWith(rest(), text)) return false;
  offset_ += text.size();
  return true;
}

char32_t PatternReader::TakeCharacter() {
  const CodePoint point = CodePointAt(pattern_, offset_);
  offset_ += point.bytes;
  return point.value;
}

absl::StatusOr<absl::string_view> PatternReader::TakeName(
    char end, std::size_t begin, absl::string_view expected) {
  const absl::string_view name = rest().substr(0, rest().find(end));
  if (name.size() == rest().size() || !IsName(name))
    return Error(begin, expected);
  offset_ += name.size() + 1;
  return name;
}

absl::StatusOr<PatternReader::Member> PatternReader::ReadEscape() {
  const std::size_t begin = offset_++;
  if (AtEnd()) return Error(begin, "nothing follows the \\");
  constexpr absl::string_view kLetters = "aefnrtv";
  constexpr absl::string_view kValues = "\a\x1B\f\n\r\t\v";
  Member member;
  const auto letter = static_cast<unsigned char>(Peek());
  const std::size_t control = kLetters.find(Peek());
  const bool is_negated = absl::ascii_isupper(letter);
  if (control != absl::string_view::npos) {
    Skip(1);
    member.value = static_cast<unsigned char>(kValues[control]);
  } else if (const auto items = LetterItems(absl::ascii_tolower(letter))) {
    Skip(1);
    member.any_of.Add(*items, is_negated);
  } else if (letter == 'p' || letter == 'P') {
    constexpr absl::string_view kExpected =
        "expected the name of a property, as in \\p{L}";
    Skip(1);
    if (!Take("{")) return Error(begin, kExpected);
    const bool is_other = Take("^");
    BANYAN_ASSIGN_OR_RETURN(const absl::string_view name,
                            TakeName('}', begin, kExpected));
    member.any_of.Add(PropertyItems(name), is_negated != is_other);
  } else if (letter == 'x' || letter == 'u') {
    BANYAN_ASSIGN_OR_RETURN(member.value, ReadNumber(begin));
  } else if (absl::ascii_isalnum(letter)) {
    return Error(begin, "this letter or digit after a \\ is not known");
  } else {
    member.value = TakeCharacter();
  }
  return member;
}

// xH, xHH, x{H...} or uHHHH.
absl::StatusOr<char32_t> PatternReader::ReadNumber(std::size_t begin) {
  const std::size_t most = Take("x") ? 2 : 4;
  if (most == 4) Skip(1);
  absl::string_view digits = rest().substr(0, most);
  if (most == 2 && Take("{")) {
    digits = rest().substr(0, rest().find('}'));
    Skip(std::min(digits.size() + 1, rest().size()));
  } else {
    const auto* end =
        std::find_if_not(digits.begin(), digits.end(), [](char c) {
          return absl::ascii_isxdigit(static_cast<unsigned char>(c));
        });
    digits = digits.substr(0, static_cast<std::size_t>(end - digits.begin()));
    if (most == 4 && digits.size() < most) digits = "";
    Skip(digits.size());
  }
  std::uint32_t value = 0;
  if (!absl::SimpleHexAtoi(digits, &value) || value > 0x10FFFF ||
      (value >= 0xD800 && value <= 0xDFFF))
    return Error(begin, "expected the number of a character, as in \\x41");
  return value;
}

absl::StatusOr<CharacterClass> PatternReader::ReadClass(int depth) {
  const std::size_t begin = offset_++;
  if (depth == kMaxClassDepth) return Error(begin, "classes nest too deep");
  constexpr absl::string_view kEmptySide = "one side of && is empty";
  const bool is_negated = Take("^");
  const std::size_t first = offset_;
  std::vector<std::string> sides;  // of &&, but the last
  CharacterClass side;
  while (offset_ == first || !Take("]")) {  // a ] that is first is a character
    if (AtEnd()) return Error(begin, "the class is not closed");
    if (!Take("&&")) {
      BANYAN_RETURN_IF_ERROR(ReadItem(depth, side));
      continue;
    }
    if (side.empty()) return Error(begin, kEmptySide);
    sides.push_back(std::exchange(side, {}).Written());
  }
  if (side.empty()) return Error(begin, kEmptySide);
  if (!sides.empty()) side.Intersect(sides);
  if (is_negated) side.Negate();
  return side;
}

// A class, a character or a range.
absl::Status PatternReader::ReadItem(int depth, CharacterClass& out) {
  const std::size_t begin = offset_;
  if (Peek() == '[') {
    bool is_found = false;
    BANYAN_RETURN_IF_ERROR(ReadPosix(out, is_found));
    if (is_found) return absl::OkStatus();
    BANYAN_ASSIGN_OR_RETURN(const CharacterClass nested, ReadClass(depth + 1));
    out.AddClass(nested);
    return absl::OkStatus();
  }
  BANYAN_ASSIGN_OR_RETURN(const Member low, ReadMember());
  if (!low.any_of.empty()) {
    out.AddClass(low.any_of);
    return absl::OkStatus();
  }
  std::string item = WrittenCharacter(low.value);
  if (Peek() == '-' && Peek(1) != ']' && rest().size() > 1) {
    Skip(1);
    if (Peek() == '[') return Error(begin, kNeedsCharacters);
    BANYAN_ASSIGN_OR_RETURN(const Member high, ReadMember());
    if (!high.any_of.empty()) return Error(begin, kNeedsCharacters);
    if (high.value < low.value)
      return Error(begin, "the range ends before it begins");
    absl::StrAppend(&item, "-", WrittenCharacter(high.value));
  }
  out.Add(item);
  return absl::OkStatus();
}

absl::StatusOr<PatternReader::Member> PatternReader::ReadMember() {
  if (Take("\\b")) return Member{.value = '\b'};
  if (Peek() == '\\') return ReadEscape();
  return Member{.value = TakeCharacter()};
}

// [:name:] or [:^name:], if that stands here; else a class does.
absl::Status PatternReader::ReadPosix(CharacterClass& out, bool& is_found) {
  const std::size_t begin = offset_;
  const std::size_t end = rest().find(":]");
  if (!absl::StartsWith(rest(), "[:") || end == absl::string_view::npos ||
      end < 2)
    return absl::OkStatus();
  absl::string_view name = rest().substr(2, end - 2);
  const bool is_negated = absl::ConsumePrefix(&name, "^");
  if (!IsName(name)) return absl::OkStatus();
  const std::optional<absl::string_view> items = PosixItems(name);
  if (!items.has_value())
    return Error(begin, "this name of a class is not known");
  Skip(end + 2);
  is_found = true;
  out.Add(*items, is_negated);
  return absl::OkStatus();
}

}  // namespace banyan
