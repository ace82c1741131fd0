#include "experiments/texts/texts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/params.h"
#include "core/prob/sampling_rule.h"
#include "core/random/random_source.h"
#include "core/tokenizer/chat_template.h"
#include "core/tokenizer/tokenizer.h"
#include "decode/decoder.h"
#include "decode/sequence.h"
#include "experiments/loading/method_file.h"

namespace banyan {

namespace {

// A text is scored in pieces: enough rows to share a reading of the weights,
// few enough that their logits need no more memory than the weights.
constexpr std::size_t kPiece = 128;

TokenScore ScoreToken(absl::Span<const double> logits, TokenId token) {
  const auto index = static_cast<std::size_t>(token);
  TokenScore score = {.log_probability = logits[index] - LogSumExp(logits),
                      .rank = 1};
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > logits[index] || (logits[i] == logits[index] && i < index))
      ++score.rank;
  return score;
}

}  // namespace

absl::StatusOr<TextScores> ScoreText(const Model& model,
                                     absl::Span<const TokenId> tokens) {
  if (tokens.empty()) return absl::InvalidArgumentError("the text is empty");
  if (tokens.size() > static_cast<std::size_t>(model.context_limit()))
    return absl::OutOfRangeError(absl::StrCat("the text has ", tokens.size(),
                                              " tokens, the context holds ",
                                              model.context_limit()));
  TextScores result;
  const std::unique_ptr<Session> session = model.NewSession();
  for (std::size_t first = 0; first < tokens.size(); first += kPiece) {
    const absl::Span<const TokenId> piece = tokens.subspan(first, kPiece);
    const TokenBatch batch = TokenBatch::Chain(piece, static_cast<int>(first));
    BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<Scores> scores,
                            ScoreOne(model, *session, batch));
    for (std::size_t i = 0; i < piece.size(); ++i) {
      BANYAN_RETURN_IF_ERROR(
          scores->Read(static_cast<int>(i), result.last_logits));
      BANYAN_RETURN_IF_ERROR(CheckLogits(result.last_logits));
      if (first + i + 1 < tokens.size())
        result.tokens.push_back(
            ScoreToken(result.last_logits, tokens[first + i + 1]));
    }
    std::vector<int> path(piece.size());
    std::iota(path.begin(), path.end(), 0);
    BANYAN_RETURN_IF_ERROR(session->Commit(path));
  }
  return result;
}

namespace {

constexpr const char* kBeginnings[] = {"The", "def", "In",   "#",
                                       "A",   "1.",  "This", "import"};
constexpr const char* kMessages[] = {
    "Tell me something that few people know.",
    "Write a short Python function and explain it.",
    "Describe a walk through an old town.",
    "How does a refrigerator work?",
    "Give me a list of things to do on a rainy day.",
    "Tell me a story about a lost key.",
    "What should I know before I rent a flat?",
    "Summarise the history of writing in one paragraph."};

absl::StatusOr<std::vector<TokenId>> BeginningOf(
    const Tokenizer& tokenizer, const std::optional<ChatTemplate>& chat,
    std::size_t number) {
  if (!chat.has_value())
    return tokenizer.Encode(kBeginnings[number % std::size(kBeginnings)]);
  BANYAN_ASSIGN_OR_RETURN(
      const PromptText text,
      chat->Render({{.role = "user",
                     .content = kMessages[number % std::size(kMessages)]}}));
  return tokenizer.EncodePrompt(text);
}

// Of texts that have up to `most` tokens: at least half are for the model.
absl::StatusOr<std::vector<std::vector<TokenId>>> Beginnings(
    const Tokenizer& tokenizer, int count, std::size_t most) {
  std::optional<ChatTemplate> chat;
  if (!tokenizer.chat_template().empty()) {
    BANYAN_ASSIGN_OR_RETURN(chat, ChatTemplate::ForModel(tokenizer, ""));
  }
  std::vector<std::vector<TokenId>> texts;
  for (int i = 0; i < count; ++i) {
    BANYAN_ASSIGN_OR_RETURN(
        texts.emplace_back(),
        BeginningOf(tokenizer, chat, static_cast<std::size_t>(i)));
    if (texts.back().size() > most / 2)
      return absl::InvalidArgumentError(absl::StrCat(
          chat.has_value() ? absl::StrCat("chat template ", chat->name())
                           : "the tokenizer",
          " begins a text with ", texts.back().size(),
          " tokens, expected at most ", most / 2, " of ", most));
  }
  return texts;
}

// Gathers what is emitted after each beginning.
class Writer : public BatchListener {
 public:
  Writer(std::vector<std::vector<TokenId>> texts, std::size_t most,
         absl::FunctionRef<void(int done, int all)> progress)
      : texts_(std::move(texts)), most_(most), progress_(progress) {}

  void Admitted(std::size_t /*prompt*/, std::int64_t /*at_ns*/,
                std::int64_t /*prefill_ns*/) override {}
  void Round(std::size_t prompt, const RoundRecord& round) override {
    std::vector<TokenId>& text = texts_[prompt];
    text.insert(text.end(), round.emitted.begin(), round.emitted.end());
    longest_ = std::max(longest_, std::min(text.size(), most_));
    progress_(static_cast<int>(longest_), static_cast<int>(most_));
  }
  void Ended(std::size_t /*prompt*/, StopReason /*reason*/,
             std::int64_t /*at_ns*/, const Lesson& /*lesson*/) override {}

  std::vector<std::vector<TokenId>> Take() {
    for (std::vector<TokenId>& text : texts_)
      if (text.size() > most_) text.resize(most_);
    return std::move(texts_);
  }

 private:
  std::vector<std::vector<TokenId>> texts_;
  std::size_t most_;
  absl::FunctionRef<void(int done, int all)> progress_;
  std::size_t longest_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<std::vector<TokenId>>> WriteOwnTexts(
    const ModelSpec& model, ModelShelf& shelf, int count, int tokens,
    absl::FunctionRef<void(int done, int all)> progress) {
  const MethodContext context = {
      .target = model,
      .shelf = shelf,
      .sampling = {
          {"temperature", {}, Params::Scalar(absl::StrCat(kOwnTemperature))}}};
  BANYAN_ASSIGN_OR_RETURN(const LoadedMethod plain, PlainMethod(context));
  if (plain.target.tokenizer == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(
        model.directory,
        ": the model has no tokenizer to begin a text with: expected texts of "
        "token ids (--workload)"));
  const auto most = static_cast<std::size_t>(
      std::min(tokens, plain.target.model->context_limit()));
  absl::StatusOr<std::vector<std::vector<TokenId>>> texts =
      Beginnings(*plain.target.tokenizer, count, most);
  if (!texts.ok())
    return absl::Status(
        texts.status().code(),
        absl::StrCat(model.directory, ": ", texts.status().message(),
                     " (--workload gives other texts)"));
  std::vector<Prompt> prompts;
  std::size_t shortest = most;
  for (const std::vector<TokenId>& text : *texts) {
    prompts.push_back({static_cast<std::uint32_t>(prompts.size()), text});
    shortest = std::min(shortest, text.size());
  }
  // Enough for each; longer texts are cut.
  const StopRule stop = {.end_of_text = plain.target.model->facts().end_of_text,
                         .max_new_tokens = static_cast<int>(most - shortest)};
  constexpr int kTogether = 8;
  SeededSource random(kOwnSeed);
  Writer writer(*std::move(texts), most, progress);
  BANYAN_RETURN_IF_ERROR(
      DecodeBatch(*plain.decoder, prompts, stop, kTogether, random, writer));
  return writer.Take();
}

}  // namespace banyan
