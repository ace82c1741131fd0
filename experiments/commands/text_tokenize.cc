// banyan text tokenize: text to token ids and back.
#include <cstddef>
#include <iostream>
#include <memory>
#include <optional>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "core/json/json_value.h"
#include "core/tokenizer/tokenizer.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"

namespace banyan {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 26;

struct Options {
  std::string model;
  bool decode = false;
  bool lines = false;
  bool no_special = false;
  bool json = false;
};

absl::StatusOr<std::vector<TokenId>> ParseIds(absl::string_view text) {
  std::vector<TokenId> ids;
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(" \t\r\n,"), absl::SkipEmpty());
  for (std::size_t i = 0; i < words.size(); ++i) {
    TokenId id = 0;
    if (!absl::SimpleAtoi(words[i], &id))
      return absl::InvalidArgumentError(
          absl::StrCat("word ", i + 1, ": expected a token id, found '",
                       words[i].substr(0, 40), "'"));
    ids.push_back(id);
  }
  return ids;
}

absl::StatusOr<JsonValue> ToJson(const Tokenizer& tokenizer,
                                 const std::vector<TokenId>& ids,
                                 const std::string& text) {
  JsonValue tokens = JsonValue::List();
  for (const TokenId id : ids) {
    BANYAN_ASSIGN_OR_RETURN(const absl::string_view token,
                            tokenizer.TokenText(id));
    tokens.Add(std::string(token));
  }
  JsonValue out;
  out["text"] = text;
  out["ids"] = ids;
  out["tokens"] = std::move(tokens);
  return out;
}

// What is printed for one text, or list of ids.
absl::StatusOr<std::string> Converted(const Options& options,
                                      const Tokenizer& tokenizer,
                                      std::string text) {
  std::vector<TokenId> ids;
  if (options.decode) {
    BANYAN_ASSIGN_OR_RETURN(ids, ParseIds(text));
    BANYAN_ASSIGN_OR_RETURN(text, tokenizer.Decode(ids, options.no_special));
  } else {
    BANYAN_ASSIGN_OR_RETURN(
        ids, tokenizer.Encode(text, {.add_special = !options.no_special,
                                     .parse_special = !options.no_special}));
  }
  if (options.json) {
    BANYAN_ASSIGN_OR_RETURN(const JsonValue json, ToJson(tokenizer, ids, text));
    return json.Text() + "\n";
  }
  if (!options.decode) return absl::StrCat(absl::StrJoin(ids, " "), "\n");
  if (!options.lines) return text;
  if (absl::StrContains(text, '\n'))
    return absl::InvalidArgumentError(
        "the text of these ids has lines of its own; --json writes them on "
        "one");
  return text + "\n";
}

absl::Status Print(const absl::StatusOr<std::string>& text,
                   absl::string_view place) {
  if (!text.ok())
    return absl::Status(text.status().code(),
                        absl::StrCat(place, ": ", text.status().message()));
  std::cout << *text;
  return absl::OkStatus();
}

// What stands in standard input up to its next `end`, or up to its own. False:
// nothing does. An input that never ends is refused.
absl::StatusOr<bool> ReadInput(std::optional<char> end, std::string& text) {
  text.clear();
  std::streambuf& in = *std::cin.rdbuf();
  for (int read = in.sbumpc(); read != std::char_traits<char>::eof();
       read = in.sbumpc()) {
    if (end.has_value() && read == *end) return true;
    if (text.size() == kMostBytes)
      return absl::InvalidArgumentError(
          absl::StrCat("standard input: expected a text of at most ",
                       kMostBytes, " bytes, found more"));
    text.push_back(static_cast<char>(read));
  }
  return !text.empty();
}

absl::Status Tokenize(const Options& options) {
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer,
                          Tokenizer::Load(options.model));
  std::string text;
  if (!options.lines) {
    BANYAN_RETURN_IF_ERROR(ReadInput(std::nullopt, text).status());
    return Print(Converted(options, *tokenizer, std::move(text)),
                 "standard input");
  }
  for (std::size_t line = 1;; ++line) {
    std::cout.flush();  // whoever writes the lines may wait for the answers
    BANYAN_ASSIGN_OR_RETURN(const bool found, ReadInput('\n', text));
    if (!found) return absl::OkStatus();
    BANYAN_RETURN_IF_ERROR(Print(Converted(options, *tokenizer, text),
                                 absl::StrCat("standard input: line ", line)));
  }
}

}  // namespace

void AddTextTokenizeCommand(CommandLine& line) {
  Command command =
      line.Add({.name = "text tokenize",
                .sentence = "Turns text into token ids, or ids back into text.",
                .more = "It reads standard input, and writes the ids on one "
                        "line or the text byte for byte.",
                .example = "  echo 'def add(a, b):' | banyan text tokenize "
                           "--model models/pycode-target"});
  const auto options = std::make_shared<Options>();
  command
      .Option("--model", &options->model,
              "Directory with tokenizer.json, and tokenizer_config.json "
              "if there is one.")
      .Required();
  command.Flag("--decode", &options->decode,
               "Read ids, with spaces, commas or lines between them; "
               "print their text and nothing after it.");
  command.Flag("--lines", &options->lines,
               "Every line of the input is a text, or with --decode a "
               "list of ids, of its own; each gives one line, as soon as "
               "it is read.");
  command.Flag("--no-special", &options->no_special,
               "Neither add special tokens nor look for them in the "
               "text; when decoding, leave them out.");
  command.Flag("--json", &options->json,
               "Print a JSON object: text, ids, and the tokens as the "
               "vocabulary writes them.");
  command.OnCall([options] { return Tokenize(*options); });
}

}  // namespace banyan
