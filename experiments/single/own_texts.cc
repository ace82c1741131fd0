#include "experiments/single/own_texts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/random/seeded_source.h"
#include "core/tokenizer/chat_template.h"
#include "core/tokenizer/tokenizer.h"
#include "decode/batch_decoder.h"
#include "decode/commit.h"
#include "decode/sequence.h"
#include "experiments/models/method_file.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/model_spec.h"

namespace banyan {
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
