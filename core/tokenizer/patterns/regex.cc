#include "core/tokenizer/patterns/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/tokenizer/patterns/pattern_reader.h"
#include "core/tokenizer/patterns/regex_dialect.h"
#include "core/tokenizer/patterns/unicode.h"

namespace banyan {
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
