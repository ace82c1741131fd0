// Tokens as a user gives them, a text or ids, and how far a command has come
// with them.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_TOKEN_INPUT_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_TOKEN_INPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/token.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/loading/model_shelf.h"

namespace banyan {

// Tokens as a user gives them: a text, or ids.
struct TokenInput {
  std::string text_option;         // "--text" or "--prompt"
  std::vector<std::string> texts;  // several: the user's messages of a chat
  std::optional<std::string> ids;
  bool no_special = false;
  // The texts are a user's messages in a chat, in the template of this name or,
  // if it is empty, in the model's own.
  std::optional<std::string> chat;
  std::optional<std::string> system;  // the chat's first message
};

// `input` must outlive the parse.
void AddTokenInput(Command& command, const std::string& text_option,
                   TokenInput& input);

// The options `--chat` and `--system`.
void AddChatOption(Command& command, TokenInput& input);

// The option `--chat` of a command that reads prompts from a workload.
void AddPromptsAsChats(Command& command, std::optional<std::string>& chat);
// " as chats", with the template's name if one is given; empty without a chat.
std::string AsChats(const std::optional<std::string>& chat);

struct InputTokens {
  // At least one, all of the model's vocabulary and with a token if there is a
  // tokenizer.
  std::vector<TokenId> ids;
  std::string chat;     // the template's name; empty: no chat
  std::string warning;  // for the user; empty: none
};

// Of a chat, the prompt of the turn after these answers to the messages before.
// Fails unless exactly one of text and ids is given, and on options that do not
// go with it.
absl::StatusOr<InputTokens> ReadTokens(
    const TokenInput& input, const LoadedModel& model,
    absl::Span<const std::string> answers = {});

// How far a command has come with the texts it reads.

// A line on standard error where that is a terminal, wiped out at the end.
class TextProgress {
 public:
  // `doing` is "counting"; `files` are all that will be read.
  TextProgress(std::string doing, const std::vector<std::string>& files);
  ~TextProgress();
  TextProgress(const TextProgress&) = delete;
  TextProgress& operator=(const TextProgress&) = delete;

  // Of all files' bytes, as far as they can be known before.
  std::int64_t all() const { return all_; }

  // Shows that `done` bytes are read: "counting 12 % of 3.4 MB". Writes only
  // when the percentage changes.
  void Show(std::int64_t done);
  // Something else takes a while.
  void Say(const std::string& what);

 private:
  std::string doing_;
  bool terminal_;
  std::int64_t all_ = 0;
  std::int64_t shown_ = -1;  // percent
  bool wipe_ = false;
};

// "writing 1.2 of 3.4 MB", likewise.
void ShowWritten(std::int64_t bytes, std::int64_t all);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_TOKEN_INPUT_H_
