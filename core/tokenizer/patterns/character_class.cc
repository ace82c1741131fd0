#include "core/tokenizer/patterns/character_class.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

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

}  // namespace banyan
