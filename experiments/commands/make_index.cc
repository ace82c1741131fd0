// banyan make index: where every string of tokens stands in texts.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/token.h"
#include "core/checkpoint/checkpoint.h"
#include "core/json/json_value.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/vocabulary.h"
#include "drafters/text/corpus_index.h"
#include "drafters/text/index_manifest.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/output.h"
#include "experiments/commands/shared/token_input.h"
#include "experiments/makers/documents.h"
#include "experiments/makers/index/index_builder.h"

namespace banyan {
namespace {

// Text of which the share of tokens is that of the whole corpus, about.
constexpr std::int64_t kFirstBytes = std::int64_t{16} << 20;
// What is sorted numbers bytes by 31 bits, at most four a token.
constexpr int kMostShardTokens = 500'000'000;

struct Options {
  std::string model;
  std::string out;
  std::string check;
  int shard_tokens = 0;
  std::vector<std::string> files;
  bool json = false;
};

void Print(const Options& options, const std::string& folder,
           const IndexManifest& index, std::size_t shards_before) {
  if (options.json) {
    const JsonValue json = {{"out", folder},
                            {"documents", index.shards.back().documents},
                            {"tokens", index.tokens()},
                            {"shards", index.shards.size()},
                            {"shards_before", shards_before},
                            {"bytes", index.bytes()},
                            {"tokenizer", index.tokenizer}};
    std::cout << json.Text(2) << "\n";
    return;
  }
  std::cout << absl::StreamFormat(
      "%s: %s in %s, %s%s, %.1f MB\n", folder, Counted(index.tokens(), "token"),
      Counted(index.shards.back().documents, "document"),
      Counted(static_cast<std::int64_t>(index.shards.size()), "shard"),
      shards_before > 0
          ? absl::StrCat(" (", shards_before, " of them found whole)")
          : "",
      static_cast<double>(index.bytes()) / 1e6);
}

// An index of texts under way.
class Indexing {
 public:
  Indexing(const Options& options, const Tokenizer& tokenizer)
      : options_(options),
        tokenizer_(tokenizer),
        progress_("indexing", options.files) {}

  absl::Status Run(int vocab_size) {
    BANYAN_ASSIGN_OR_RETURN(
        builder_,
        IndexBuilder::Open(
            options_.out,
            {.tokenizer = NameOfTokens(tokenizer_),
             .vocab_size = vocab_size,
             .shard_tokens = options_.shard_tokens,
             .on_sort = [this](std::size_t shard, std::int64_t tokens) {
               progress_.Say(absl::StrFormat("sorting shard %d: %d tokens",
                                             shard, tokens));
             }}));
    for (const std::string& file : options_.files) {
      std::int64_t bytes = 0;
      const auto visit = [&](absl::string_view text, std::int64_t bytes_read) {
        bytes = bytes_read;
        return Add(text, before_ + bytes_read);
      };
      const absl::Status read = ForEachDocument(file, visit);
      BANYAN_RETURN_IF_ERROR(failed_);  // without the document's place
      BANYAN_RETURN_IF_ERROR(read);
      before_ += bytes;
    }
    BANYAN_ASSIGN_OR_RETURN(const IndexManifest built, builder_->Finish());
    Print(options_, options_.out, built, builder_->shards_before());
    return absl::OkStatus();
  }

 private:
  // The text alone: no token is added before or after, and what looks like a
  // special token is text.
  absl::Status Add(absl::string_view text, std::int64_t bytes_read) {
    progress_.Show(bytes_read);
    absl::Status encoded;
    bool is_new = false;
    failed_ = builder_->Add(text, [&] {
      is_new = true;
      auto tokens = tokenizer_.Encode(
          text, {.add_special = false, .parse_special = false});
      encoded = tokens.status();
      return tokens;
    });
    if (!encoded.ok()) failed_ = absl::OkStatus();
    BANYAN_RETURN_IF_ERROR(encoded);
    BANYAN_RETURN_IF_ERROR(failed_);
    if (is_new) new_bytes_ += static_cast<std::int64_t>(text.size());
    failed_ = CheckSpace(bytes_read);
    return failed_;
  }

  // Once, by the tokens of the first texts, before the long work.
  absl::Status CheckSpace(std::int64_t bytes_read) {
    if (space_was_checked_ || new_bytes_ < kFirstBytes) return absl::OkStatus();
    space_was_checked_ = true;
    const double tokens_a_byte = static_cast<double>(builder_->new_tokens()) /
                                 static_cast<double>(new_bytes_);
    const auto bytes =
        static_cast<double>(new_bytes_ + progress_.all() - bytes_read);
    return builder_->RequireSpace("the rest of the index takes about",
                                  tokens_a_byte * bytes);
  }

  const Options& options_;
  const Tokenizer& tokenizer_;
  TextProgress progress_;
  std::unique_ptr<IndexBuilder> builder_;
  std::int64_t before_ = 0;     // bytes of the files that are done
  std::int64_t new_bytes_ = 0;  // of texts that were not there yet
  bool space_was_checked_ = false;
  absl::Status failed_;  // of the index, not of a document
};

absl::Status Build(const Options& options) {
  if (options.model.empty() || options.out.empty() || options.files.empty())
    return absl::InvalidArgumentError(
        "expected --model, --out and files, or --check");
  // The model may have more tokens than its tokenizer, not fewer.
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint,
                          Checkpoint::Open(options.model));
  for (const std::string& warning : checkpoint->warnings())
    PrintWarning(warning);
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer,
                          Tokenizer::Load(options.model));
  const int vocab_size = checkpoint->architecture().vocab_size;
  if (tokenizer->vocab_size() > vocab_size)
    return absl::InvalidArgumentError(absl::StrCat(
        options.model, ": the tokenizer has ", tokenizer->vocab_size(),
        " tokens, expected no more than the model's ", vocab_size));
  return Indexing(options, *tokenizer).Run(tokenizer->vocab_size());
}

absl::Status CheckIndex(const Options& options) {
  if (!options.out.empty() || !options.files.empty())
    return absl::InvalidArgumentError(
        "--check reads an index: expected no --out and no files");
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<CorpusIndex> index,
                          CorpusIndex::Open(options.check));
  BANYAN_RETURN_IF_ERROR(index->CheckSums());
  if (!options.model.empty()) {
    BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer,
                            Tokenizer::Load(options.model));
    BANYAN_RETURN_IF_ERROR(
        index->CheckFits(NameOfTokens(*tokenizer), tokenizer->vocab_size()));
  }
  Print(options, options.check, index->manifest(), 0);
  return absl::OkStatus();
}

absl::Status Index(const Options& options) {
  return options.check.empty() ? Build(options) : CheckIndex(options);
}

}  // namespace

void AddMakeIndexCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "make index",
       .sentence = "Builds the index of a corpus for the drafter rest (REST).",
       .more = "The same command resumes an interrupted build.",
       .example =
           "  banyan make index --model models/pycode-target --out index \\\n"
           "      experiments/workloads/README.md\n"
           "  banyan make index --check index"});
  const auto options = std::make_shared<Options>();
  command.Option("--model", &options->model,
                 "The model's directory, whose tokenizer the index is for.");
  command.Option("--out", &options->out,
                 "The folder to make, or one of an index under way.");
  command
      .Option("--shard-tokens", &options->shard_tokens,
              "The most tokens that are sorted at once.")
      .Within(2, kMostShardTokens)
      .ShowDefault("as many as take less than 2 GiB of memory");
  command
      .Option("--check", &options->check,
              "Reads this index instead, all of it, and says whether it is as "
              "it was written.")
      .NotEmpty("an index's folder");
  command.Option("files", &options->files,
                 "Texts, a document each; or .jsonl files, with a document "
                 "under 'text' in the object on each line.");
  command.Flag("--json", &options->json, "Print JSON.");
  command.OnCall([options] { return Index(*options); });
}

}  // namespace banyan
