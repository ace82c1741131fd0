#include "experiments/commands/shared/token_input.h"

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "core/tokenizer/chat_template.h"
#include "core/tokenizer/patterns/unicode.h"
#include "core/tokenizer/tokenizer.h"

namespace banyan {

namespace {

absl::StatusOr<std::vector<TokenId>> ParseIds(const std::string& text,
                                              int vocab_size) {
  std::vector<TokenId> ids;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    item = absl::StripAsciiWhitespace(item);
    TokenId id = 0;
    if (!absl::SimpleAtoi(item, &id))
      return absl::InvalidArgumentError(absl::StrCat(
          "--ids: expected token ids as in 1,2,3, found '", item, "'"));
    if (id < 0 || id >= vocab_size)
      return absl::InvalidArgumentError(
          absl::StrCat("--ids: expected ids from 0 to ", vocab_size - 1,
                       ", the model's vocabulary, found ", id));
    ids.push_back(id);
  }
  return ids;
}

// `status` said of `option`.
absl::Status At(absl::string_view option, const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": ", status.message()));
}

// A place in the prompt would count the template too, and a place in a message
// without the white space that some templates take away.
absl::Status CheckUtf8(const TokenInput& input) {
  if (input.system.has_value())
    if (const absl::Status fine = CheckIsUtf8(*input.system); !fine.ok())
      return At("--system", fine);
  for (std::size_t i = 0; i < input.texts.size(); ++i)
    if (const absl::Status fine = CheckIsUtf8(input.texts[i]); !fine.ok())
      return At(input.texts.size() == 1
                    ? input.text_option
                    : absl::StrCat(input.text_option, " ", i + 1),
                fine);
  return absl::OkStatus();
}

std::vector<ChatMessage> MessagesOf(const TokenInput& input,
                                    absl::Span<const std::string> answers) {
  std::vector<ChatMessage> messages;
  if (input.system.has_value()) messages.push_back({"system", *input.system});
  for (std::size_t i = 0; i <= answers.size(); ++i) {
    messages.push_back({"user", input.texts[i]});
    if (i < answers.size()) messages.push_back({"assistant", answers[i]});
  }
  return messages;
}

absl::StatusOr<InputTokens> EncodeChat(const TokenInput& input,
                                       const Tokenizer& tokenizer,
                                       absl::Span<const std::string> answers) {
  if (input.no_special)
    return absl::InvalidArgumentError(
        "--no-special does not go with --chat, whose special tokens make it a "
        "chat");
  const absl::StatusOr<ChatTemplate> chat =
      ChatTemplate::ForModel(tokenizer, *input.chat);
  if (!chat.ok()) return At("--chat", chat.status());
  BANYAN_RETURN_IF_ERROR(CheckUtf8(input));
  const absl::StatusOr<PromptText> text =
      chat->Render(MessagesOf(input, answers));
  if (!text.ok()) return At("--chat", text.status());
  absl::StatusOr<std::vector<TokenId>> ids = tokenizer.EncodePrompt(*text);
  if (!ids.ok()) return At(input.text_option, ids.status());
  InputTokens tokens = {.ids = *std::move(ids),
                        .chat = std::string(chat->name())};
  if (!chat->warning().empty())
    tokens.warning = absl::StrCat("--chat: ", chat->warning());
  return tokens;
}

absl::StatusOr<InputTokens> Encode(const TokenInput& input,
                                   const LoadedModel& model,
                                   absl::Span<const std::string> answers) {
  const Tokenizer* const tokenizer = model.tokenizer.get();
  if (tokenizer == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat(input.text_option, ": the model has no tokenizer (",
                     model.no_tokenizer, "); give --ids"));
  if (input.chat.has_value()) return EncodeChat(input, *tokenizer, answers);
  if (input.texts.size() > 1)
    return absl::InvalidArgumentError(absl::StrCat(
        input.text_option, ": expected one text, found ", input.texts.size()));
  const std::string& text = input.texts.front();
  absl::StatusOr<std::vector<TokenId>> ids = tokenizer->Encode(
      text,
      {.add_special = !input.no_special, .parse_special = !input.no_special});
  if (!ids.ok()) return At(input.text_option, ids.status());
  if (ids->empty())
    return absl::InvalidArgumentError(absl::StrCat(
        input.text_option, ": the text ",
        !text.empty()      ? "gives no token"
        : input.no_special ? "is empty, and --no-special adds nothing to it"
                           : "is empty, and the tokenizer adds no token to "
                             "it"));
  return InputTokens{.ids = *std::move(ids)};
}

}  // namespace

void AddTokenInput(Command& command, const std::string& text_option,
                   TokenInput& input) {
  input.text_option = text_option;
  command
      .Option(text_option, &input.texts,
              "The text; special tokens in it are tokens.")
      .OneEachTime()
      .MayBeEmpty();
  command
      .Option("--ids", &input.ids,
              "Token ids instead, as in 1,2,3; nothing is added.")
      .NotEmpty("token ids");
  command.Flag("--no-special", &input.no_special,
               "Neither add special tokens, such as one for the begin, nor "
               "look for them in the text.");
}

void AddChatOption(Command& command, TokenInput& input) {
  command
      .Option("--chat", &input.chat,
              "The text is a user's message in a chat: in the template "
              "named, or without a name in the model's own. Special tokens in "
              "a message are text.")
      .ValueOptional()
      .MayBeEmpty();
  command
      .Option("--system", &input.system,
              "With --chat: the system's message, before the user's.")
      .MayBeEmpty();
}

void AddPromptsAsChats(Command& command, std::optional<std::string>& chat) {
  command
      .Option("--chat", &chat,
              "Each prompt is a user's first message in a chat: in the "
              "template named, or without a name in the model's own.")
      .ValueOptional()
      .MayBeEmpty();
}

std::string AsChats(const std::optional<std::string>& chat) {
  if (!chat.has_value()) return "";
  return absl::StrCat(" as chats", chat->empty() ? "" : " of ", *chat);
}

absl::StatusOr<InputTokens> ReadTokens(const TokenInput& input,
                                       const LoadedModel& model,
                                       absl::Span<const std::string> answers) {
  const bool is_text = !input.texts.empty();
  if (is_text == input.ids.has_value())
    return absl::InvalidArgumentError(
        absl::StrCat("give either ", input.text_option, " or --ids",
                     is_text ? ", not both" : ""));
  if (input.system.has_value() && !input.chat.has_value())
    return absl::InvalidArgumentError(
        "--system goes with --chat: without a chat there is no system");
  if (is_text) return Encode(input, model, answers);
  if (input.no_special || input.chat.has_value())
    return absl::InvalidArgumentError(
        absl::StrCat(input.no_special ? "--no-special" : "--chat",
                     " goes with ", input.text_option, ", not with --ids"));
  InputTokens read;
  BANYAN_ASSIGN_OR_RETURN(read.ids,
                          ParseIds(*input.ids, model.model->vocab_size()));
  if (model.tokenizer == nullptr) return read;
  for (TokenId id : read.ids) {
    const absl::Status known = model.tokenizer->TokenText(id).status();
    if (!known.ok()) return At("--ids", known);
  }
  return read;
}

TextProgress::TextProgress(std::string doing,
                           const std::vector<std::string>& files)
    : doing_(std::move(doing)), terminal_(isatty(STDERR_FILENO) == 1) {
  for (const std::string& file : files) {
    std::error_code none;  // the reader says it better
    const auto size = std::filesystem::file_size(file, none);
    if (!none) all_ += static_cast<std::int64_t>(size);
  }
}

TextProgress::~TextProgress() {
  if (wipe_) std::cerr << "\r\033[K";
}

void TextProgress::Show(std::int64_t done) {
  const std::int64_t percent = all_ > 0 ? 100 * done / all_ : 0;
  if (percent == shown_) return;
  shown_ = percent;
  Say(absl::StrFormat("%s %d %% of %.1f MB", doing_, percent,
                      static_cast<double>(all_) / 1e6));
}

void TextProgress::Say(const std::string& what) {
  if (!terminal_) return;
  wipe_ = true;
  std::cerr << "\r\033[K" << what << std::flush;
}

void ShowWritten(std::int64_t bytes, std::int64_t all) {
  if (isatty(STDERR_FILENO) != 1) return;
  std::cerr << absl::StreamFormat("\rwriting %.1f of %.1f MB",
                                  static_cast<double>(bytes) / 1e6,
                                  static_cast<double>(all) / 1e6)
            << std::flush;
  if (bytes == all) std::cerr << "\r\033[K";
}

}  // namespace banyan
