#include "core/tokenizer/patterns/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/base/check.h"
#include "core/tokenizer/patterns/pattern_reader.h"
#include "core/tokenizer/patterns/unicode.h"

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

namespace {

// Published patterns have a few hundred bytes.
constexpr std::size_t kMaxPatternBytes = std::size_t{16} << 10;
// What one attempt may take: on patterns that are published it takes some
// steps for each byte of the longest run of white space.
constexpr std::uint64_t kMaxSteps = 10'000'000;
constexpr std::uint64_t kMaxStepsPerByte = 16;
constexpr std::uint32_t kMaxHeapKib = 256 << 10;

PCRE2_SPTR Units(absl::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

std::string CompileFault(int code) {
  switch (code) {
    case PCRE2_ERROR_QUANTIFIER_OUT_OF_ORDER:
      return "the numbers of {} are not in order";
    case PCRE2_ERROR_QUANTIFIER_TOO_BIG:
      return "a number of {} is too large; expected at most 65535";
    case PCRE2_ERROR_QUANTIFIER_INVALID:
      return "there is nothing to repeat before this";
    case PCRE2_ERROR_BAD_SUBPATTERN_REFERENCE:
      return "there is no group of this number";
    case PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP:
      return "groups nest too deep";
    case PCRE2_ERROR_PATTERN_TOO_LARGE:
    case PCRE2_ERROR_LOOKBEHIND_TOO_COMPLICATED:
      return "the pattern is too large";
    case PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH:
      return "a lookbehind has no fixed length";
    case PCRE2_ERROR_LOOKBEHIND_TOO_LONG:
      return "a lookbehind is too long";
    case PCRE2_ERROR_UNICODE_DISALLOWED_CODE_POINT:
    case PCRE2_ERROR_CODE_POINT_TOO_BIG:
      return "there is no character of this number";
    case PCRE2_ERROR_UNKNOWN_UNICODE_PROPERTY:
      return "this name of a property of characters is not known";
    default:
      return absl::StrCat("the pattern cannot be compiled (PCRE2 gives ", code,
                          ")");
  }
}

absl::Status CheckSize(absl::string_view pattern) {
  if (pattern.size() <= kMaxPatternBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the pattern has ", pattern.size(),
                   " bytes; expected at most ", kMaxPatternBytes));
}

struct Outcome {
  std::shared_ptr<pcre2_code> code;  // null if there is a fault
  int fault = 0;
  std::size_t offset = 0;
};

Outcome CompileUnits(absl::string_view text, std::uint32_t options) {
  const std::unique_ptr<pcre2_compile_context,
                        decltype(&pcre2_compile_context_free)>
      context(pcre2_compile_context_create(nullptr),
              &pcre2_compile_context_free);
  Check(context != nullptr, "there is memory for a regular expression");
  // Both else depend on how the library was built.
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_bsr(context.get(), PCRE2_BSR_UNICODE);
  Outcome outcome;
  outcome.code.reset(
      pcre2_compile(Units(text), text.size(), PCRE2_UTF | options,
                    &outcome.fault, &outcome.offset, context.get()),
      &pcre2_code_free);
  // Where there is no compiler to machine code, or no memory that may hold
  // such, the interpreter matches.
  if (outcome.code != nullptr)
    pcre2_jit_compile(outcome.code.get(), PCRE2_JIT_COMPLETE);
  return outcome;
}

// The memory and the limits of one search.
class Search {
 public:
  Search(const pcre2_code* code, absl::string_view text)
      : code_(code),
        text_(text),
        data_(pcre2_match_data_create(1, nullptr), &pcre2_match_data_free),
        context_(pcre2_match_context_create(nullptr),
                 &pcre2_match_context_free) {
    Check(data_ != nullptr && context_ != nullptr,
          "there is memory for a search");
    pcre2_set_match_limit(
        context_.get(),
        static_cast<std::uint32_t>(std::min<std::uint64_t>(
            kMaxSteps + kMaxStepsPerByte * text.size(), UINT32_MAX)));
    pcre2_set_heap_limit(context_.get(), kMaxHeapKib);
  }

  // Negative where there is no match, or no answer.
  int Next(std::size_t from) {
    int outcome = Match(from, 0);
    // Machine code has the stack that a function has. The interpreter takes
    // its memory from the heap.
    if (outcome == PCRE2_ERROR_JIT_STACKLIMIT)
      outcome = Match(from, PCRE2_NO_JIT);
    is_checked_ = true;
    return outcome;
  }

  RegexMatch match() const {
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data_.get());
    return {ends[0], ends[1]};
  }

 private:
  int Match(std::size_t from, std::uint32_t options) {
    // The text's UTF-8 is checked in the first call, and the same in all.
    if (is_checked_) options |= PCRE2_NO_UTF_CHECK;
    return pcre2_match(code_, Units(text_), text_.size(), from, options,
                       data_.get(), context_.get());
  }

  const pcre2_code* code_;
  absl::string_view text_;
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data_;
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)>
      context_;
  bool is_checked_ = false;
};

std::string SearchFault(int code) {
  switch (code) {
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
      return "takes too many attempts";
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_NOMEMORY:
      return "takes too much memory";
    default:
      return code <= PCRE2_ERROR_UTF8_ERR1 && code >= PCRE2_ERROR_UTF8_ERR21
                 ? std::string("finds a text that is not UTF-8")
                 : absl::StrCat("cannot be matched (PCRE2 gives ", code, ")");
  }
}

}  // namespace

Regex::Regex(absl::string_view pattern, std::shared_ptr<pcre2_code> code)
    : pattern_(pattern), code_(std::move(code)) {}

absl::StatusOr<Regex> Regex::Compile(absl::string_view pattern) {
  BANYAN_RETURN_IF_ERROR(CheckSize(pattern));
  BANYAN_ASSIGN_OR_RETURN(const PcrePattern translated, ToPcre(pattern));
  Outcome outcome = CompileUnits(translated.text, PCRE2_UCP | PCRE2_MULTILINE);
  if (outcome.code == nullptr)
    return PatternError(pattern,
                        outcome.offset < translated.origins.size()
                            ? translated.origins[outcome.offset]
                            : pattern.size(),
                        CompileFault(outcome.fault));
  return Regex(pattern, std::move(outcome.code));
}

absl::StatusOr<Regex> Regex::Literal(absl::string_view text) {
  BANYAN_RETURN_IF_ERROR(CheckSize(text));
  Outcome outcome = CompileUnits(text, PCRE2_LITERAL);
  Check(outcome.code != nullptr, "a text is a pattern");
  return Regex(text, std::move(outcome.code));
}

absl::StatusOr<std::vector<RegexMatch>> Regex::FindAll(
    absl::string_view text) const {
  Search search(code_.get(), text);
  std::vector<RegexMatch> matches;
  for (std::size_t from = 0; from <= text.size();) {
    const int outcome = search.Next(from);
    if (outcome == PCRE2_ERROR_NOMATCH) break;
    if (outcome < 0)
      return absl::InvalidArgumentError(absl::StrCat(
          "the pattern '", pattern_, "' ", SearchFault(outcome), " in ",
          text.size(), " bytes of text, from byte ", from));
    const RegexMatch match = search.match();
    if (match.begin == match.end && !matches.empty() &&
        matches.back().end == match.end) {
      from += from < text.size() ? CodePointAt(text, from).bytes : 1;
      continue;
    }
    matches.push_back(match);
    from = match.end;
  }
  return matches;
}

}  // namespace banyan
