#include "tests/fuzz/targets.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/check.h"
#include "core/base/params.h"
#include "core/base/token.h"
#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/tokenizer.h"
#include "tree/paths_json.h"

namespace banyan {
namespace {

constexpr char kFile[] = "corpus";

// A fault may be at the text's end: below the last line, if that has no end.
int LineCount(absl::string_view text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 2;
}

void CheckOrigin(const Origin& at, absl::string_view text) {
  Check(at.file != nullptr && *at.file == kFile, "the origin names the file");
  Check(at.line >= 1 && at.line <= LineCount(text), "the line is in the file");
  Check(at.column >= 1 && at.column <= static_cast<int>(text.size()) + 2,
        "the column is in the file");
}

// Goes through `value`, which has at most `levels` levels of lists and maps.
void CheckParams(const Params& value, int levels, absl::string_view text) {
  CheckOrigin(value.origin(), text);
  const bool is_map = value.kind() == Params::Kind::kMap;
  const bool is_list = value.kind() == Params::Kind::kList;
  Check(levels > 0 || !(is_map || is_list), "the depth is bounded");
  for (const Params& item : value.items()) CheckParams(item, levels - 1, text);
  for (const Params::Entry& entry : value.entries()) {
    CheckOrigin(entry.key_origin, text);
    Check(value.Find(entry.key) == &entry.value, "every key is there once");
    CheckParams(entry.value, levels - 1, text);
  }
}

// "corpus: place in the JSON: message", or a place in the text.
void CheckTokenizerMessage(const absl::Status& status, absl::string_view text) {
  if (!absl::StartsWith(status.message(), "corpus: ")) {
    CheckPlacedMessage(status, text);
    return;
  }
  Check(absl::IsInvalidArgument(status), "the error is InvalidArgument");
  Check(FindInvalidUtf8(status.message()) == absl::string_view::npos,
        "the message is UTF-8");
}

void CheckDecoding(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                   bool skip_special) {
  const absl::StatusOr<std::string> whole = tokenizer.Decode(ids, skip_special);
  Check(whole.ok(), "ids of tokens have a text");
  Check(FindInvalidUtf8(*whole) == absl::string_view::npos,
        "the decoded text is UTF-8");
  StreamDecoder stream(tokenizer, skip_special);
  std::string text;
  for (const TokenId id : ids) {
    text += stream.Push(id).value();
    Check(FindInvalidUtf8(text) == absl::string_view::npos,
          "no push gives a part of a character");
  }
  Check(text + stream.Finish() == *whole, "the parts make up the whole");
}

void CheckEncoding(const Tokenizer& tokenizer, absl::string_view text,
                   const EncodeOptions& options) {
  const absl::StatusOr<std::vector<TokenId>> ids =
      tokenizer.Encode(text, options);
  if (!ids.ok()) {
    Check(absl::IsInvalidArgument(ids.status()), "the text was at fault");
    return;
  }
  for (const TokenId id : *ids) {
    Check(id >= 0 && id < tokenizer.vocab_size(), "ids are in range");
    Check(tokenizer.TokenText(id).ok(), "ids have a token");
  }
  CheckDecoding(tokenizer, *ids, options.add_special);
}

}  // namespace

void CheckPlacedMessage(const absl::Status& status, absl::string_view text) {
  Check(absl::IsInvalidArgument(status), "the error is InvalidArgument");
  const std::vector<absl::string_view> parts =
      absl::StrSplit(status.message(), absl::MaxSplits(':', 3));
  Check(parts.size() == 4 && parts[0] == kFile && parts[3].size() > 1,
        "the message has a place and a text");
  Origin at{std::make_shared<const std::string>(kFile)};
  Check(absl::SimpleAtoi(parts[1], &at.line) &&
            absl::SimpleAtoi(parts[2], &at.column),
        "the place is a line and a column");
  CheckOrigin(at, text);
}

absl::Status FuzzYaml(absl::string_view text) {
  const absl::StatusOr<Params> params = ParseYaml(text, kFile);
  if (params.ok()) {
    CheckParams(*params, 64, text);
  } else {
    CheckPlacedMessage(params.status(), text);
  }
  return params.status();
}

absl::Status FuzzPathsJson(absl::string_view text) {
  const auto paths = ParsePathsJson(text, kFile, "");
  const auto named = ParsePathsJson(text, kFile, "a");
  if (!named.ok()) CheckPlacedMessage(named.status(), text);
  if (!paths.ok()) {
    CheckPlacedMessage(paths.status(), text);
    return paths.status();
  }
  const auto again = ParsePathsJson(PathsToJson(*paths), kFile, "");
  Check(again.ok() && *again == *paths, "paths survive writing and reading");
  return absl::OkStatus();
}

absl::Status FuzzTokenizerJson(absl::string_view text) {
  const auto tokenizer = Tokenizer::FromJson(text, kFile);
  if (!tokenizer.ok()) {
    CheckTokenizerMessage(tokenizer.status(), text);
    return tokenizer.status();
  }
  constexpr absl::string_view kTexts[] = {
      "",
      "a",
      "ab abab  b\n\n a",
      "<s>a</s> <s>\tb",
      "it's 12345 WE'LL\r\n",
      "\u00e9\u2581\U0001F333 \u00a0\u3000x e\u0301 \U0001F469\u200D"};
  for (absl::string_view each : kTexts)
    for (const bool special : {false, true})
      CheckEncoding(**tokenizer, each, {special, special});
  Check(!(*tokenizer)->Encode("\xff").ok(), "what is not UTF-8 is refused");
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < (*tokenizer)->vocab_size() && ids.size() < 300;
       ++id)
    if ((*tokenizer)->TokenText(id).ok()) ids.push_back(id);
  CheckDecoding(**tokenizer, ids, false);
  return absl::OkStatus();
}

}  // namespace banyan
