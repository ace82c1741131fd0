#include "core/tokenizer/steps/pre_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/steps/both_ways.h"

namespace banyan {

namespace {

struct PreTokenizerRow {
  absl::string_view name;
  SplitBehavior behavior;
};

constexpr PreTokenizerRow kPreTokenizerRows[] = {
    {"Removed", SplitBehavior::kRemoved},
    {"Isolated", SplitBehavior::kIsolated},
    {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
    {"MergedWithNext", SplitBehavior::kMergedWithNext},
    {"Contiguous", SplitBehavior::kContiguous},
};

absl::StatusOr<SplitBehavior> ReadBehavior(const JsonAt& json) {
  BANYAN_ASSIGN_OR_RETURN(const std::string name, json.String());
  for (const PreTokenizerRow& row : kPreTokenizerRows)
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

namespace {

// Real files have two or three. Each step may lengthen what another cuts again.
constexpr std::size_t kMostPreSteps = 8;

// Appends bytes [begin, end) of `whole` as a piece, unless there are none.
void Append(const Piece& whole, std::size_t begin, std::size_t end,
            std::vector<Piece>& out) {
  if (begin < end)
    out.push_back(
        {whole.text.substr(begin, end - begin), whole.at_start && begin == 0});
}

// A piece begins at each occurrence of `text`.
void SplitBefore(absl::string_view text, const Piece& whole,
                 std::vector<Piece>& out) {
  std::size_t begin = 0;
  while (begin < whole.text.size()) {
    const std::size_t next =
        whole.text.find(text.data(), begin + 1, text.size());
    const std::size_t end =
        next == std::string::npos ? whole.text.size() : next;
    Append(whole, begin, end, out);
    begin = end;
  }
}

// Numbers apart from the rest, one by one or in runs.
void SplitNumbers(bool one_by_one, const Piece& whole,
                  std::vector<Piece>& out) {
  std::size_t begin = 0;
  bool was_number = false;
  for (std::size_t at = 0; at < whole.text.size();) {
    const CodePoint point = CodePointAt(whole.text, at);
    const bool is_number = IsNumber(point.value);
    if (is_number != was_number || (is_number && one_by_one)) {
      Append(whole, begin, at, out);
      begin = at;
    }
    was_number = is_number;
    at += point.bytes;
  }
  Append(whole, begin, whole.text.size(), out);
}

}  // namespace

absl::StatusOr<PreTokenizer> PreTokenizer::FromJson(const JsonAt& json) {
  PreTokenizer result;
  if (!json.is_null()) BANYAN_RETURN_IF_ERROR(result.Add(json));
  return result;
}

absl::Status PreTokenizer::Add(const JsonAt& json) {
  if (steps_.size() >= kMostPreSteps)
    return json.Error(
        absl::StrCat("expected at most ", kMostPreSteps, " pre-tokenizers"));
  BANYAN_ASSIGN_OR_RETURN(const std::string type, json.At("type").String());
  if (type == "ByteLevel") return AddByteLevel(json);
  if (type == "Split") return AddSplit(json);
  if (type == "Metaspace") return AddMetaspace(json);
  if (type == "Digits") return AddDigits(json);
  if (type != "Sequence")
    return json.At("type").Expected(
        "Sequence, ByteLevel, Split, Metaspace or Digits");
  BANYAN_RETURN_IF_ERROR(json.HasOnly({"type", "pretokenizers"}));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items,
                          json.At("pretokenizers").Items());
  for (const JsonAt& item : items) BANYAN_RETURN_IF_ERROR(Add(item));
  return absl::OkStatus();
}

absl::Status PreTokenizer::AddByteLevel(const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(
      json.HasOnly({"type", "add_prefix_space", "trim_offsets", "use_regex"}));
  if (has_byte_level_)
    return json.Error("expected one ByteLevel: a second would map its output");
  has_byte_level_ = true;
  BANYAN_ASSIGN_OR_RETURN(const bool adds_prefix,
                          json.At("add_prefix_space").Bool());
  BANYAN_ASSIGN_OR_RETURN(const bool uses_regex,
                          json.At("use_regex").BoolOr(true));
  steps_.push_back([adds_prefix, uses_regex](Piece piece,
                                             std::vector<Piece>& out) {
    if (adds_prefix && !absl::StartsWith(piece.text, " "))
      piece.text = absl::StrCat(" ", piece.text);
    const std::size_t first = out.size();
    if (uses_regex) {
      BANYAN_RETURN_IF_ERROR(Splitter(SplitPattern::kGpt2).Split(piece, out));
    } else {
      out.push_back(std::move(piece));
    }
    for (std::size_t i = first; i < out.size(); ++i)
      out[i].text = BytesToCharacters(out[i].text);
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::Status PreTokenizer::AddSplit(const JsonAt& json) {
  BANYAN_ASSIGN_OR_RETURN(Splitter splitter, Splitter::FromJson(json));
  steps_.push_back([splitter = std::move(splitter)](const Piece& piece,
                                                    std::vector<Piece>& out) {
    return splitter.Split(piece, out);
  });
  return absl::OkStatus();
}

absl::Status PreTokenizer::AddMetaspace(const JsonAt& json) {
  BANYAN_ASSIGN_OR_RETURN(Metaspace meta, ReadMetaspace(json));
  steps_.push_back(
      [meta = std::move(meta)](Piece piece, std::vector<Piece>& out) {
        const std::string& mark = meta.replacement;
        piece.text = ReplaceAll(piece.text, " ", mark);
        const bool prepends =
            meta.prepend == Metaspace::Prepend::kAlways ||
            (meta.prepend == Metaspace::Prepend::kFirst && piece.at_start);
        if (prepends && !absl::StartsWith(piece.text, mark))
          piece.text = absl::StrCat(mark, piece.text);
        if (meta.splits) {
          SplitBefore(mark, piece, out);
        } else {
          out.push_back(std::move(piece));
        }
        return absl::OkStatus();
      });
  return absl::OkStatus();
}

absl::Status PreTokenizer::AddDigits(const JsonAt& json) {
  BANYAN_RETURN_IF_ERROR(json.HasOnly({"type", "individual_digits"}));
  BANYAN_ASSIGN_OR_RETURN(const bool one_by_one,
                          json.At("individual_digits").BoolOr(false));
  steps_.push_back([one_by_one](const Piece& piece, std::vector<Piece>& out) {
    SplitNumbers(one_by_one, piece, out);
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::Status PreTokenizer::Split(Piece piece, std::vector<Piece>& out) const {
  std::vector<Piece> pieces;
  pieces.push_back(std::move(piece));
  for (const Step& step : steps_) {
    std::vector<Piece> next;
    for (Piece& each : pieces)
      BANYAN_RETURN_IF_ERROR(step(std::move(each), next));
    pieces = std::move(next);
  }
  for (Piece& each : pieces) out.push_back(std::move(each));
  return absl::OkStatus();
}

}  // namespace banyan
