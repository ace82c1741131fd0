#include "experiments/makers/documents.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "core/base/input_files.h"
#include "core/json/json_value.h"

namespace banyan {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 32;

absl::Status At(absl::string_view place, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(place, ": ", status.message()));
}

absl::Status ForEachLine(const std::string& path, absl::string_view file,
                         DocumentVisitor visit) {
  int number = 0;
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < file.size(); begin = end) {
    ++number;
    const std::size_t line_end = std::min(file.find('\n', begin), file.size());
    end = std::min(line_end + 1, file.size());
    BANYAN_ASSIGN_OR_RETURN(
        const JsonTree line,
        JsonTree::ParseLine(file.substr(begin, line_end - begin), path,
                            number));
    if (!line.root().is_object())
      return line.root().Expected("an object with a text under 'text'");
    std::vector<JsonAt> texts = {line.root().At("text")};
    if (const JsonAt turns = line.root().At("turns"); turns.exists()) {
      BANYAN_ASSIGN_OR_RETURN(texts, turns.Items());
    }
    for (const JsonAt& one : texts) {
      BANYAN_ASSIGN_OR_RETURN(const std::string text, one.String());
      BANYAN_RETURN_IF_ERROR(At(absl::StrCat(path, ":", number),
                                visit(text, static_cast<std::int64_t>(end))));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ForEachDocument(const std::string& path, DocumentVisitor visit) {
  BANYAN_ASSIGN_OR_RETURN(const std::string file, ReadFile(path, kMostBytes));
  if (absl::EndsWith(path, ".jsonl")) return ForEachLine(path, file, visit);
  return At(path, visit(file, static_cast<std::int64_t>(file.size())));
}

namespace {

// A pair as one number, in the order of the first token, then the second.
std::uint64_t PairOf(TokenId first, TokenId second) {
  return static_cast<std::uint64_t>(first) << 32 |
         static_cast<std::uint64_t>(second);
}
TokenId FirstOf(std::uint64_t pair) { return static_cast<TokenId>(pair >> 32); }
TokenId SecondOf(std::uint64_t pair) {
  return static_cast<TokenId>(pair & 0xffffffff);
}

}  // namespace

TokenCounter::TokenCounter(int vocab_size)
    : unigram_(static_cast<std::size_t>(vocab_size)) {}

absl::Status TokenCounter::Add(absl::Span<const TokenId> document) {
  const auto vocab_size = static_cast<TokenId>(unigram_.size());
  for (TokenId token : document)
    if (token < 0 || token >= vocab_size)
      return absl::InvalidArgumentError(
          absl::StrCat("the tokenizer gives token ", token,
                       ", expected one of the model's, 0 to ", vocab_size - 1));
  for (std::size_t i = 0; i < document.size(); ++i) {
    ++unigram_[static_cast<std::size_t>(document[i])];
    if (i == 0) continue;
    std::int32_t& count = pairs_[PairOf(document[i - 1], document[i])];
    if (count == std::numeric_limits<std::int32_t>::max())
      return absl::OutOfRangeError(absl::StrCat(
          "token ", document[i], " follows token ", document[i - 1],
          " more than ", count, " times, which a file of counts cannot say"));
    ++count;
  }
  ++documents_;
  tokens_ += static_cast<std::int64_t>(document.size());
  return absl::OkStatus();
}

TokenCounts TokenCounter::counts() const {
  std::vector<std::uint64_t> pairs;
  pairs.reserve(pairs_.size());
  for (const auto& [pair, count] : pairs_) pairs.push_back(pair);
  std::sort(pairs.begin(), pairs.end());
  TokenCounts counts = {.unigram = unigram_};
  counts.offsets.resize(unigram_.size() + 1);
  for (std::uint64_t pair : pairs) {
    ++counts.offsets[static_cast<std::size_t>(FirstOf(pair)) + 1];
    counts.tokens.push_back(SecondOf(pair));
    counts.counts.push_back(pairs_.at(pair));
  }
  for (std::size_t i = 1; i < counts.offsets.size(); ++i)
    counts.offsets[i] += counts.offsets[i - 1];
  return counts;
}

}  // namespace banyan
