#include "core/tokenizer/patterns/pattern_reader.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "core/tokenizer/patterns/unicode.h"

namespace banyan {

namespace {

static_assert(PCRE2_MAJOR > 10 || PCRE2_MINOR >= 40,
              "PCRE2 10.40 is the first to know \\p{Alphabetic} and \\p{sc:}");

// What stands between the brackets of a class, for the classes that have the
// same name and other members in PCRE2.
constexpr absl::string_view kSpace =
    R"(\x{9}-\x{D} \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029})"
    R"(\x{202F}\x{205F}\x{3000})";
constexpr absl::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr absl::string_view kHexDigit = "0-9A-Fa-f";

struct NamedClass {
  absl::string_view name;
  absl::string_view items;
};

// Names in brackets, [:alpha:]; but for punct they may stand in \p{} too.
constexpr NamedClass kPosix[] = {
    {"alnum", R"(\p{Alphabetic}\p{Nd})"},
    {"alpha", R"(\p{Alphabetic})"},
    {"ascii", R"(\x{0}-\x{7F})"},
    {"blank", R"(\p{Zs}\x{9})"},
    {"cntrl", R"(\p{Cc})"},
    {"digit", R"(\p{Nd})"},
    {"lower", R"(\p{Lowercase})"},
    {"punct", R"(\p{P}\p{S})"},
    {"space", kSpace},
    {"upper", R"(\p{Uppercase})"},
    {"word", kWord},
    {"xdigit", kHexDigit},
};

// Long names of general categories, and whatever else PCRE2 has no name for.
constexpr NamedClass kProperties[] = {
    {"assigned", R"(\P{Cn})"},
    {"casedletter", R"(\p{L&})"},
    {"closepunctuation", R"(\p{Pe})"},
    {"combiningmark", R"(\p{M})"},
    {"connectorpunctuation", R"(\p{Pc})"},
    {"control", R"(\p{Cc})"},
    {"currencysymbol", R"(\p{Sc})"},
    {"dashpunctuation", R"(\p{Pd})"},
    {"decimalnumber", R"(\p{Nd})"},
    {"enclosingmark", R"(\p{Me})"},
    {"finalpunctuation", R"(\p{Pf})"},
    {"format", R"(\p{Cf})"},
    {"initialpunctuation", R"(\p{Pi})"},
    {"letter", R"(\p{L})"},
    {"letternumber", R"(\p{Nl})"},
    {"lineseparator", R"(\p{Zl})"},
    {"lowercaseletter", R"(\p{Ll})"},
    {"mark", R"(\p{M})"},
    {"mathsymbol", R"(\p{Sm})"},
    {"modifierletter", R"(\p{Lm})"},
    {"modifiersymbol", R"(\p{Sk})"},
    {"nonspacingmark", R"(\p{Mn})"},
    {"number", R"(\p{N})"},
    {"openpunctuation", R"(\p{Ps})"},
    {"other", R"(\p{C})"},
    {"otherletter", R"(\p{Lo})"},
    {"othernumber", R"(\p{No})"},
    {"otherpunctuation", R"(\p{Po})"},
    {"othersymbol", R"(\p{So})"},
    {"paragraphseparator", R"(\p{Zp})"},
    {"privateuse", R"(\p{Co})"},
    {"punct", R"(\p{P})"},
    {"punctuation", R"(\p{P})"},
    {"separator", R"(\p{Z})"},
    {"spaceseparator", R"(\p{Zs})"},
    {"spacingmark", R"(\p{Mc})"},
    {"symbol", R"(\p{S})"},
    {"titlecaseletter", R"(\p{Lt})"},
    {"unassigned", R"(\p{Cn})"},
    {"uppercaseletter", R"(\p{Lu})"},
};

template <std::size_t size>
std::optional<absl::string_view> Find(const NamedClass (&rows)[size],
                                      absl::string_view name) {
  for (const NamedClass& row : rows)
    if (row.name == name) return row.items;
  return std::nullopt;
}

// Whether PCRE2 knows a script of this name, which no list here could say.
bool IsScript(absl::string_view name) {
  const std::string property = absl::StrCat("\\p{sc:", name, "}");
  int fault = 0;
  PCRE2_SIZE offset = 0;
  const std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(property.data()),
                    property.size(), PCRE2_UTF, &fault, &offset, nullptr),
      &pcre2_code_free);
  return code != nullptr;
}

}  // namespace

std::optional<absl::string_view> LetterItems(char letter) {
  switch (letter) {
    case 's':
      return kSpace;
    case 'w':
      return kWord;
    case 'd':
      return "\\p{Nd}";
    case 'h':
      return kHexDigit;
    default:
      return std::nullopt;
  }
}

std::optional<absl::string_view> PosixItems(absl::string_view name) {
  return Find(kPosix, name);
}

std::string PropertyItems(absl::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != '_' && c != '-' && c != ' ') plain += absl::ascii_tolower(c);
  if (const auto items = Find(kProperties, plain)) return std::string(*items);
  if (const auto items = Find(kPosix, plain)) return std::string(*items);
  return absl::StrCat(IsScript(plain) ? "\\p{sc:" : "\\p{", plain, "}");
}

std::string WrittenCharacter(char32_t value) {
  if (value < 0x80 && absl::ascii_isalnum(static_cast<unsigned char>(value)))
    return std::string(1, static_cast<char>(value));
  return absl::StrCat("\\x{", absl::Hex(static_cast<std::uint32_t>(value)),
                      "}");
}

void CharacterClass::Add(absl::string_view items, bool is_negated) {
  if (is_negated)
    others_.push_back(absl::StrCat("[^", items, "]"));
  else
    absl::StrAppend(&items_, items);
}

void CharacterClass::AddClass(const CharacterClass& nested) {
  if (nested.is_negated_ || !nested.others_.empty())
    others_.push_back(nested.Written());
  else
    items_ += nested.items_;
}

void CharacterClass::Intersect(const std::vector<std::string>& others) {
  std::string shared = "(?:";
  for (const std::string& other : others)
    absl::StrAppend(&shared, "(?=", other, ")");
  absl::StrAppend(&shared, Written(), ")");
  items_.clear();
  others_ = {shared};
}

std::string CharacterClass::Written() const {
  if (others_.empty())
    return absl::StrCat(is_negated_ ? "[^" : "[", items_, "]");
  std::vector<std::string> all = others_;
  if (!items_.empty()) all.push_back(absl::StrCat("[", items_, "]"));
  if (is_negated_)
    return absl::StrCat("(?:(?!", absl::StrJoin(all, "|"), ")(?s:.))");
  if (all.size() == 1) return all[0];
  return absl::StrCat("(?:", absl::StrJoin(all, "|"), ")");
}

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
