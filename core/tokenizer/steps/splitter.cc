#include "core/tokenizer/steps/splitter.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/json/json_at.h"
#include "core/tokenizer/patterns/regex.h"
#include "core/tokenizer/patterns/split_pattern.h"
#include "core/tokenizer/steps/piece.h"

namespace banyan {
namespace {

struct Row {
  absl::string_view name;
  SplitBehavior behavior;
};

constexpr Row kRows[] = {
    {"Removed", SplitBehavior::kRemoved},
    {"Isolated", SplitBehavior::kIsolated},
    {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
    {"MergedWithNext", SplitBehavior::kMergedWithNext},
    {"Contiguous", SplitBehavior::kContiguous},
};

absl::StatusOr<SplitBehavior> ReadBehavior(const JsonAt& json) {
  BANYAN_ASSIGN_OR_RETURN(const std::string name, json.String());
  for (const Row& row : kRows)
    if (row.name == name) return row.behavior;
  return json.Expected(
      "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

}  // namespace

absl::StatusOr<Splitter> Splitter::FromJson(const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(
      json.HasOnly({"type", "pattern", "behavior", "invert"}));
  Splitter result;
  BANYAN_ASSIGN_OR_RETURN(result.behavior_, ReadBehavior(json.At("behavior")));
  BANYAN_ASSIGN_OR_RETURN(result.inverts_, json.At("invert").BoolOr(false));
  BANYAN_RETURN_IF_ERROR(result.ReadPattern(json.At("pattern")));
  return result;
}

absl::Status Splitter::ReadPattern(const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(json.HasOnly({"Regex", "String"}));
  const bool is_regex = !json.At("Regex").is_null();
  const JsonAt pattern = json.At(is_regex ? "Regex" : "String");
  BANYAN_ASSIGN_OR_RETURN(const std::string text, pattern.String());
  if (is_regex) known_ = FindSplitPattern(text);
  if (known_.has_value()) return absl::OkStatus();
  absl::StatusOr<Regex> regex =
      is_regex ? Regex::Compile(text) : Regex::Literal(text);
  if (!regex.ok()) return pattern.Error(regex.status().message());
  regex_ = *std::move(regex);
  return absl::OkStatus();
}

absl::Status Splitter::ForEachPart(absl::string_view text,
                                   absl::FunctionRef<void(Part)> take) const {
  std::size_t done = 0;
  if (known_.has_value()) {  // nothing stands between its words
    while (done < text.size()) {
      const std::size_t end = WordEnd(*known_, text, done);
      take({{done, end}, !inverts_});
      done = end;
    }
    return absl::OkStatus();
  }
  BANYAN_ASSIGN_OR_RETURN(const std::vector<RegexMatch> matches,
                          regex_->FindAll(text));
  for (const RegexMatch& match : matches) {
    if (done < match.begin) take({{done, match.begin}, inverts_});
    take({match, !inverts_});
    done = match.end;
  }
  if (done < text.size()) take({{done, text.size()}, inverts_});
  return absl::OkStatus();
}

// For merging with what follows, all of it from the right.
std::vector<Splitter::Part> Splitter::Joined(
    const std::vector<Part>& parts) const {
  const bool from_right = behavior_ == SplitBehavior::kMergedWithNext;
  std::vector<Part> joined;
  bool was_match = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[from_right ? parts.size() - 1 - i : i];
    const bool joins = behavior_ == SplitBehavior::kContiguous
                           ? part.is_match == was_match
                           : part.is_match && !was_match;
    was_match = part.is_match;
    if (!joins || joined.empty()) {
      joined.push_back(part);
    } else if (from_right) {
      joined.back().bytes.begin = part.bytes.begin;
    } else {
      joined.back().bytes.end = part.bytes.end;
    }
  }
  if (from_right) std::reverse(joined.begin(), joined.end());
  return joined;
}

absl::Status Splitter::Split(const Piece& whole,
                             std::vector<Piece>& out) const {
  const auto append = [&](RegexMatch bytes) {
    if (bytes.begin < bytes.end)
      out.push_back({whole.text.substr(bytes.begin, bytes.end - bytes.begin),
                     whole.at_start && bytes.begin == 0});
  };
  if (behavior_ == SplitBehavior::kIsolated)
    return ForEachPart(whole.text, [&](Part part) { append(part.bytes); });
  if (behavior_ == SplitBehavior::kRemoved)
    return ForEachPart(whole.text, [&](Part part) {
      if (!part.is_match) append(part.bytes);
    });
  std::vector<Part> parts;
  BANYAN_RETURN_IF_ERROR(
      ForEachPart(whole.text, [&](Part part) { parts.push_back(part); }));
  for (const Part& part : Joined(parts)) append(part.bytes);
  return absl::OkStatus();
}

}  // namespace banyan
