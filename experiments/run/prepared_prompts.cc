#include "experiments/run/prepared_prompts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/tokenizer/chat_template.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/method_file.h"
#include "experiments/plan/choose_prompts.h"
#include "experiments/plan/workload.h"
#include "experiments/run/prepared_cells.h"

namespace banyan {
namespace {

absl::Status CheckIsText(const WorkloadPrompt& prompt) {
  if (prompt.ids.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("token ids cannot be written as a chat");
}

// The prompt as a user's message in the template of that name.
absl::StatusOr<std::vector<TokenId>> FirstTurn(const WorkloadPrompt& prompt,
                                               const std::string& name,
                                               const LoadedModel& target) {
  BANYAN_RETURN_IF_ERROR(CheckIsText(prompt));
  if (target.tokenizer == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(
        "a chat takes a target with a tokenizer (", target.no_tokenizer, ")"));
  BANYAN_ASSIGN_OR_RETURN(const ChatTemplate chat,
                          ChatTemplate::ForModel(*target.tokenizer, name));
  BANYAN_ASSIGN_OR_RETURN(
      const PromptText text,
      chat.Render({{.role = "user", .content = prompt.text}}));
  return target.tokenizer->EncodePrompt(text);
}

// The first turn's tokens for one target, and how many all turns have beside
// the answers.
struct Wanted {
  std::vector<TokenId> tokens;
  int length = 0;
};

absl::StatusOr<Wanted> WantedBy(const PreparedCell& cell,
                                const WorkloadPrompt& prompt,
                                const PreparedPrompt& prepared) {
  Wanted wanted;
  if (!cell.chat.has_value()) {
    BANYAN_ASSIGN_OR_RETURN(wanted.tokens, TokensOf(prompt, cell.target));
    wanted.length = static_cast<int>(wanted.tokens.size());
    return wanted;
  }
  BANYAN_RETURN_IF_ERROR(CheckIsText(prompt));
  BANYAN_ASSIGN_OR_RETURN(wanted.tokens, ChatTokens(cell, prepared, {}));
  const std::vector<std::string> answers(prepared.chat.size() - 1);
  BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenId> last,
                          ChatTokens(cell, prepared, answers));
  wanted.length = static_cast<int>(last.size());
  return wanted;
}

// Fails unless prompt and answers fit the target's context. A drafter with a
// shorter context is no error: it drafts nothing after the end of its context.
absl::Status CheckRoom(const PreparedCell& cell, int asked, int answered) {
  const int limit = cell.target.model->context_limit();
  if (asked + answered <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      asked, " tokens and ", answered, " new ones do not fit the context of ",
      limit, " (cell ", cell.description.name(), ")"));
}

}  // namespace

absl::StatusOr<PreparedPrompt> PreparePrompt(
    int number, const WorkloadPrompt& prompt,
    const std::vector<PreparedCell>& cells) {
  PreparedPrompt prepared = {
      .number = number, .id = prompt.id, .kind = prompt.kind};
  if (!cells.empty() && cells.front().chat.has_value()) {
    prepared.chat = {prompt.text};
    prepared.chat.insert(prepared.chat.end(), prompt.later.begin(),
                         prompt.later.end());
  }
  const Model* last = nullptr;
  Wanted wanted;
  for (const PreparedCell& cell : cells) {
    if (cell.target.model.get() != last) {
      BANYAN_ASSIGN_OR_RETURN(wanted, WantedBy(cell, prompt, prepared));
      if (last != nullptr && wanted.tokens != prepared.tokens)
        return absl::InvalidArgumentError(
            "the targets cut the text into different tokens");
      prepared.tokens = wanted.tokens;
      last = cell.target.model.get();
    }
    const int answered = prepared.turns() * cell.stop.max_new_tokens;
    BANYAN_RETURN_IF_ERROR(CheckRoom(cell, wanted.length, answered));
    prepared.longest = std::max(prepared.longest, wanted.length + answered);
  }
  return prepared;
}

absl::StatusOr<std::vector<TokenId>> ChatTokens(
    const PreparedCell& cell, const PreparedPrompt& prompt,
    absl::Span<const std::string> answers) {
  std::vector<ChatMessage> messages;
  for (std::size_t i = 0; i <= answers.size(); ++i) {
    messages.push_back({.role = "user", .content = prompt.chat[i]});
    if (i < answers.size())
      messages.push_back({.role = "assistant", .content = answers[i]});
  }
  BANYAN_ASSIGN_OR_RETURN(const PromptText text, cell.chat->Render(messages));
  return cell.target.tokenizer->EncodePrompt(text);
}

absl::StatusOr<std::vector<TokenId>> TokensOf(const WorkloadPrompt& prompt,
                                              const LoadedModel& target) {
  const int vocabulary = target.model->vocab_size();
  for (TokenId id : prompt.ids)
    if (id >= vocabulary)
      return absl::InvalidArgumentError(
          absl::StrCat("token id ", id,
                       " is outside the target's vocabulary of ", vocabulary));
  if (!prompt.ids.empty()) return prompt.ids;
  if (target.tokenizer == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("the target has no tokenizer (", target.no_tokenizer,
                     "); the workload is text"));
  BANYAN_ASSIGN_OR_RETURN(std::vector<TokenId> tokens,
                          target.tokenizer->Encode(prompt.text));
  if (tokens.empty())
    return absl::InvalidArgumentError(
        prompt.text.empty()
            ? "the text is empty, and the tokenizer adds no token to it"
            : "the text gives no token");
  return tokens;
}

absl::StatusOr<std::vector<Prompt>> ReadPrompts(
    const std::string& workload, std::optional<int> wanted,
    const LoadedModel& target, const std::optional<std::string>& chat) {
  BANYAN_ASSIGN_OR_RETURN(const Workload all, ReadWorkload(workload));
  const int most = wanted.value_or(
      std::min(kFewPrompts, static_cast<int>(all.prompts.size())));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<int> chosen,
                          ChoosePrompts({workload, {}, most}, all));
  std::vector<Prompt> prompts;
  for (int number : chosen) {
    const WorkloadPrompt& prompt =
        all.prompts[static_cast<std::size_t>(number)];
    BANYAN_ASSIGN_OR_RETURN(std::vector<TokenId> tokens,
                            chat.has_value() ? FirstTurn(prompt, *chat, target)
                                             : TokensOf(prompt, target));
    prompts.push_back({static_cast<std::uint32_t>(number), std::move(tokens)});
  }
  return prompts;
}

}  // namespace banyan
