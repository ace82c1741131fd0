#include "core/tokenizer/patterns/regex_dialect.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/tokenizer/patterns/character_class.h"
#include "core/tokenizer/patterns/pattern_reader.h"

namespace banyan {
namespace {

constexpr absl::string_view kUnknownGroup = "this kind of group is not known";

bool IsDigits(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isdigit(c); });
}

bool Holds(absl::string_view letters, char c) {
  return letters.find(c) != absl::string_view::npos;
}

// \w, \W, \b and \B. Outside of brackets Oniguruma counts the six numbers of
// Latin-1 as of a word.
std::string WordEscape(char letter) {
  const std::string items =
      absl::StrCat(*LetterItems('w'), R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})");
  if (letter == 'W') return absl::StrCat("[^", items, "]");
  const std::string word = absl::StrCat("[", items, "]");
  if (letter == 'w') return word;
  const bool differs = letter == 'b';  // what stands on the two sides
  return absl::StrCat("(?:(?<=", word, differs ? ")(?!" : ")(?=", word,
                      ")|(?<!", word, differs ? ")(?=" : ")(?!", word, "))");
}

class Translator {
 public:
  explicit Translator(absl::string_view pattern) : in_(pattern) {}

  absl::StatusOr<PcrePattern> Run() {
    while (!in_.AtEnd()) {
      begin_ = in_.offset();
      BANYAN_RETURN_IF_ERROR(Next());
    }
    begin_ = in_.offset();
    if (groups_.size() > 1)
      return in_.Error(groups_.back().origin, "the group is not closed");
    Emit(std::string(groups_.back().more_ends, ')'));
    return std::move(out_);
  }

 private:
  // One that is open; the first is the pattern.
  struct Group {
    std::size_t origin = 0;     // where it begins in the pattern
    std::size_t begin = 0;      // and in what is written
    std::size_t more_ends = 0;  // of groups that only what is written has
  };

  void Insert(std::size_t place, absl::string_view text) {
    out_.text.insert(place, text.data(), text.size());
    out_.origins.insert(
        out_.origins.begin() + static_cast<std::ptrdiff_t>(place), text.size(),
        begin_);
  }
  void Emit(absl::string_view text) { Insert(out_.text.size(), text); }
  // Emits a text that a following quantifier repeats.
  absl::Status EmitAtom(absl::string_view text) {
    atom_ = out_.text.size();
    is_repeated_ = false;
    Emit(text);
    return absl::OkStatus();
  }
  absl::Status EmitNoAtom(absl::string_view text) {
    atom_ = std::nullopt;
    Emit(text);
    return absl::OkStatus();
  }
  // The same for `bytes` that PCRE2 understands as they are.
  std::string Taken(std::size_t bytes) {
    std::string text(in_.rest().substr(0, bytes));
    in_.Skip(bytes);
    return text;
  }

  absl::Status Next() {
    switch (in_.Peek()) {
      case '\\':
        return TranslateEscape();
      case '[': {
        BANYAN_ASSIGN_OR_RETURN(const CharacterClass any_of, in_.ReadClass());
        return EmitAtom(any_of.Written());
      }
      case '(':
        return OpenGroup();
      case ')':
        return CloseGroup();
      case '*':
      case '+':
      case '?':
        return Repeat(Taken(1), "?+");
      case '{':
        return TranslateBrace();
      case '|':
      case '^':
      case '$':
        return EmitNoAtom(Taken(1));
      case '.':
        return EmitAtom(Taken(1));
      default:
        return EmitAtom(WrittenCharacter(in_.TakeCharacter()));
    }
  }

  // `marks`: of these one may follow, which makes it lazy or possessive.
  absl::Status Repeat(absl::string_view quantifier, absl::string_view marks) {
    if (!atom_.has_value())
      return in_.Error(begin_, "there is nothing to repeat before this");
    if (is_repeated_) {
      Insert(*atom_, "(?:");
      Emit(")");
    }
    Emit(quantifier);
    if (Holds(marks, in_.Peek())) Emit(Taken(1));
    is_repeated_ = true;
    return absl::OkStatus();
  }

  // {n}, {n,}, {n,m} or {,m}; else the brace is a character.
  absl::Status TranslateBrace() {
    in_.Skip(1);
    const absl::string_view inside = in_.rest().substr(0, in_.rest().find('}'));
    const std::size_t comma = inside.find(',');
    const bool has_comma = comma != absl::string_view::npos;
    const absl::string_view low = inside.substr(0, comma);
    const absl::string_view high = has_comma ? inside.substr(comma + 1) : "";
    if (inside.size() == in_.rest().size() || (low.empty() && high.empty()) ||
        !IsDigits(low) || !IsDigits(high))
      return EmitAtom("\\{");
    in_.Skip(inside.size() + 1);
    return Repeat(absl::StrCat("{", low.empty() ? "0" : low,
                               has_comma ? "," : "", high, "}"),
                  has_comma ? "?" : "");
  }

  absl::Status OpenGroup() {
    const std::size_t begin = out_.text.size();
    std::string head = "(";
    for (absl::string_view kind : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"})
      if (in_.Take(kind)) head = std::string(kind);
    if (head == "(") {
      if (in_.Take("(?<")) {  // a name, which nothing can refer to
        BANYAN_RETURN_IF_ERROR(
            in_.TakeName('>', begin_, kUnknownGroup).status());
      } else if (in_.Take("(?")) {
        return OpenOptions(begin);
      } else if (absl::StartsWith(in_.rest(), "(*")) {
        return in_.Error(begin_, kUnknownGroup);
      } else {
        in_.Skip(1);
      }
    }
    groups_.push_back({begin_, begin});
    return EmitNoAtom(head);
  }

  // (?i-m:...), or (?i-m) for what is left of the group.
  absl::Status OpenOptions(std::size_t begin) {
    std::string head = "(?";
    while (Holds("im-", in_.Peek())) head += in_.Take("m") ? "s" : Taken(1);
    const bool is_group = in_.Take(":");
    if (head == "(?" || (!is_group && !in_.Take(")")))
      return in_.Error(begin_, "this kind of group or option is not known");
    if (is_group)
      groups_.push_back({begin_, begin});
    else
      ++groups_.back().more_ends;
    return EmitNoAtom(head + ":");
  }

  absl::Status CloseGroup() {
    if (groups_.size() == 1) return in_.Error(begin_, "no group is open here");
    in_.Skip(1);
    const Group group = groups_.back();
    groups_.pop_back();
    Emit(std::string(group.more_ends + 1, ')'));
    atom_ = group.begin;
    is_repeated_ = false;
    return absl::OkStatus();
  }

  absl::Status TranslateEscape() {
    const char letter = in_.Peek(1);
    if (Holds("bBwW", letter)) {
      in_.Skip(2);
      return EmitAtom(WordEscape(letter));
    }
    if (Holds("AzZG", letter)) return EmitNoAtom(Taken(2));
    if (letter == 'R') return EmitAtom(Taken(2));
    const bool is_last =
        !absl::ascii_isdigit(static_cast<unsigned char>(in_.Peek(2)));
    if (letter >= '1' && letter <= '9' && is_last)
      return EmitAtom(absl::StrCat("\\g{", Taken(2).substr(1), "}"));
    BANYAN_ASSIGN_OR_RETURN(const PatternReader::Member member,
                            in_.ReadEscape());
    return EmitAtom(member.any_of.empty() ? WrittenCharacter(member.value)
                                          : member.any_of.Written());
  }

  PatternReader in_;
  std::size_t begin_ = 0;  // of what is being translated
  PcrePattern out_;
  std::vector<Group> groups_ = {{}};
  std::optional<std::size_t> atom_;  // where it begins in what is written
  bool is_repeated_ = false;         // it has a quantifier
};

}  // namespace

absl::StatusOr<PcrePattern> ToPcre(absl::string_view pattern) {
  return Translator(pattern).Run();
}

}  // namespace banyan
