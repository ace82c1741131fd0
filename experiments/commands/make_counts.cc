// banyan make counts: how often tokens stand in texts, and which follows which.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/token.h"
#include "core/checkpoint/checkpoint.h"
#include "core/json/json_value.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/vocabulary.h"
#include "drafters/draft_vocabulary.h"
#include "drafters/text/token_counts.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/output.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/makers/documents.h"

namespace banyan {
namespace {

struct Options {
  std::string model;
  OutputPath out;
  std::vector<std::string> files;
  bool json = false;
  int top = 0;  // tokens of a vocabulary that is written instead; 0: none
};

// Counts the text alone: no token is added before or after, and what looks like
// a special token is text.
absl::Status CountText(const Tokenizer& tokenizer, absl::string_view text,
                       TokenCounter& counter) {
  BANYAN_ASSIGN_OR_RETURN(
      const std::vector<TokenId> tokens,
      tokenizer.Encode(text, {.add_special = false, .parse_special = false}));
  return counter.Add(tokens);
}

absl::Status CountFiles(const Options& options, const Tokenizer& tokenizer,
                        TokenCounter& counter) {
  TextProgress progress("counting", options.files);
  std::int64_t before = 0;  // bytes of the files that are done
  for (const std::string& file : options.files) {
    std::int64_t bytes = 0;
    const auto visit = [&](absl::string_view text, std::int64_t bytes_read) {
      bytes = bytes_read;
      progress.Show(before + bytes);
      return CountText(tokenizer, text, counter);
    };
    BANYAN_RETURN_IF_ERROR(ForEachDocument(file, visit));
    before += bytes;
  }
  if (counter.tokens() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(options.files.front(),
                   options.files.size() == 1 ? "" : " and the other files",
                   ": expected a text, found no token"));
}

// The most frequent tokens, ties by rising id, and those that end a text.
std::vector<TokenId> TopTokens(const std::vector<std::int64_t>& counts,
                               const std::vector<TokenId>& ends, int wanted) {
  std::vector<TokenId> order(counts.size());
  std::iota(order.begin(), order.end(), TokenId{0});
  const auto count = [&](TokenId token) {
    const bool is_end =
        std::find(ends.begin(), ends.end(), token) != ends.end();
    return is_end ? std::numeric_limits<std::int64_t>::max()
                  : counts[static_cast<std::size_t>(token)];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](TokenId a, TokenId b) { return count(a) > count(b); });
  order.resize(static_cast<std::size_t>(wanted));
  std::sort(order.begin(), order.end());
  return order;
}

// Writes the vocabulary and tells how much of the text it holds.
absl::Status WriteTop(const Options& options, const Checkpoint& checkpoint,
                      const Tokenizer& tokenizer, const TokenCounter& counter) {
  const std::vector<std::int64_t> counts = counter.counts().unigram;
  const DraftVocabulary vocabulary = {
      .tokenizer = NameOfTokens(tokenizer),
      .vocab_size = checkpoint.architecture().vocab_size,
      .tokens = TopTokens(counts, checkpoint.architecture().end_of_text,
                          options.top)};
  BANYAN_RETURN_IF_ERROR(WriteOutput(options.out, ToJson(vocabulary)));
  std::int64_t held = 0;
  for (const TokenId token : vocabulary.tokens)
    held += counts[static_cast<std::size_t>(token)];
  const double share =
      static_cast<double>(held) / static_cast<double>(counter.tokens());
  if (options.json)
    std::cout << JsonValue({{"out", options.out.path()},
                            {"documents", counter.documents()},
                            {"tokens", counter.tokens()},
                            {"kept", options.top},
                            {"share", share}})
                     .Text(2)
              << "\n";
  else
    std::cout << absl::StreamFormat(
        "%s: %s of %d, %.2f %% of the %s in %s\n", options.out.path(),
        Counted(options.top, "token"), vocabulary.vocab_size, 100 * share,
        Counted(counter.tokens(), "token"),
        Counted(counter.documents(), "document"));
  return absl::OkStatus();
}

void Print(const Options& options, const TokenCounter& counter,
           std::int64_t bytes) {
  if (options.json) {
    const JsonValue json = {{"out", options.out.path()},
                            {"documents", counter.documents()},
                            {"tokens", counter.tokens()},
                            {"pairs", counter.pairs()},
                            {"bytes", bytes}};
    std::cout << json.Text(2) << "\n";
    return;
  }
  std::cout << absl::StreamFormat(
      "%s: %s in %s, %s, %.1f MB\n", options.out.path(),
      Counted(static_cast<std::int64_t>(counter.tokens()), "token"),
      Counted(static_cast<std::int64_t>(counter.documents()), "document"),
      Counted(static_cast<std::int64_t>(counter.pairs()), "distinct pair"),
      static_cast<double>(bytes) / 1e6);
}

absl::Status Count(const Options& options) {
  // The model may have more tokens than its tokenizer.
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint,
                          Checkpoint::Open(options.model));
  for (const std::string& warning : checkpoint->warnings())
    PrintWarning(warning);
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer,
                          Tokenizer::Load(options.model));
  const int vocab_size = checkpoint->architecture().vocab_size;
  if (options.top > vocab_size)
    return absl::InvalidArgumentError(
        absl::StrCat("--top: expected at most the model's ", vocab_size,
                     " tokens, found ", options.top));
  TokenCounter counter(vocab_size);
  BANYAN_RETURN_IF_ERROR(CountFiles(options, *tokenizer, counter));
  if (options.top > 0)
    return WriteTop(options, *checkpoint, *tokenizer, counter);
  BANYAN_RETURN_IF_ERROR(
      WriteTokenCounts(options.out.path(), counter.counts()));
  std::error_code of_a_device;  // which keeps no byte
  const auto bytes =
      std::filesystem::file_size(options.out.path(), of_a_device);
  Print(options, counter, of_a_device ? 0 : static_cast<std::int64_t>(bytes));
  return absl::OkStatus();
}

}  // namespace

void AddMakeCountsCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "make counts",
       .sentence = "Counts tokens and token pairs in texts.",
       .more = "The drafters unigram and bigram read the counts. With --top "
               "the command lists the most frequent tokens instead: the draft "
               "vocabulary of the drafter in whose folder the list is "
               "vocabulary.json, or whose key vocabulary names it.",
       .example = "  banyan make counts --model models/pycode-target --out "
                  "counts.safetensors \\\n"
                  "      experiments/workloads/README.md\n"
                  "  banyan make counts --model models/pycode-target --out "
                  "vocabulary.json \\\n"
                  "      --top 512 experiments/workloads/README.md"});
  const auto options = std::make_shared<Options>();
  command
      .Option("--model", &options->model,
              "The model's directory, whose tokenizer and vocabulary the "
              "counts are for.")
      .Required();
  command
      .Option("--out", &options->out,
              "The file to write; an older one is replaced.")
      .Required();
  command
      .Option("--top", &options->top,
              "Write the N most frequent tokens instead of counts. End-of-text "
              "tokens are always among them.")
      .AtLeast(1);
  command
      .Option("files", &options->files,
              "Texts, one document each; or .jsonl files whose lines hold an "
              "object with a document under 'text' or several under 'turns'.")
      .Required();
  command.Flag("--json", &options->json, "Print JSON.");
  command.OnCall([options] { return Count(*options); });
}

}  // namespace banyan
