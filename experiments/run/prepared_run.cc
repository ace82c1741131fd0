#include "experiments/run/prepared_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "core/model/model.h"
#include "core/ops/devices.h"
#include "core/tokenizer/chat_template.h"
#include "drafters/catalogue.h"
#include "drafters/workbench.h"
#include "experiments/loading/method_file.h"
#include "experiments/plan/resolve.h"

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

namespace {

// By cell, the first one of its setting.
std::vector<std::size_t> FirstsOf(const std::vector<ExperimentCell>& cells) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::size_t> firsts;
  for (const ExperimentCell& cell : cells)
    firsts.push_back(
        numbers.emplace(SettingOf(cell), firsts.size()).first->second);
  return firsts;
}

// Those that could be prepared, in their order. The first cell of every setting
// comes before all others, which are left alone where something is wrong.
std::vector<PreparedCell> PrepareCells(
    const Experiment& experiment, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock,
    const std::function<void(int done, int all)>& progress, Errors& errors) {
  const std::vector<ExperimentCell>& cells = experiment.cells;
  const WorkloadSpec& workload = experiment.workload;
  ModelShelf outline(OutlineOf(shelf.shared_backend()), shelf.warn(),
                     shelf.ranks());
  const std::vector<std::size_t> firsts = FirstsOf(cells);
  std::vector<std::optional<PreparedCell>> prepared(cells.size());
  int done = 0;
  const auto prepare = [&](std::size_t i) {
    const ExperimentCell& cell = cells[i];
    if (progress) progress(done++, static_cast<int>(cells.size()));
    if (cell.target.directory.empty()) {
      if (cell.method != kPlainMethod)
        errors.Add(CheckMethod(cell.spec, cell.sampling));
      return;
    }
    // A bound on memory is one for the process.
    const bool in_turn = !cell.target.memory.empty() && cells.size() > 1;
    const std::optional<PreparedCell>& first = prepared[firsts[i]];
    absl::StatusOr<PreparedCell> own =
        in_turn ? PrepareInTurn(cell, workload, shelf, outline, clock)
        : first.has_value() && !first->carries_state
            ? WithSeedOf(cell, *first)
            : PrepareCell(cell, workload, shelf, clock);
    errors.Add(own.status());
    if (!own.ok()) return;
    own->setting = firsts[i];
    prepared[i] = *std::move(own);
  };
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (firsts[i] == i) prepare(i);
  for (std::size_t i = 0; i < cells.size() && errors.empty(); ++i)
    if (firsts[i] != i) prepare(i);
  std::vector<PreparedCell> all;
  for (std::optional<PreparedCell>& cell : prepared)
    if (cell.has_value()) all.push_back(*std::move(cell));
  return all;
}

// Whether there is something at the path that a method's model names.
absl::Status CheckIsThere(const NamedModel& model) {
  const std::string& path = model.spec.directory;
  std::error_code error;
  if (model.spec.copy || std::filesystem::exists(path, error))
    return absl::OkStatus();
  return ErrorAt(model.place.origin(),
                 model.folder_key.empty()
                     ? RequireModel(path)
                     : RequireDirectory(model.folder_key, path));
}

}  // namespace

std::vector<std::vector<std::size_t>> PreparedRun::Units() const {
  std::size_t together = 1;
  for (const PreparedCell& cell : cells)
    together = std::max(together, static_cast<std::size_t>(cell.batch));
  const std::size_t most = together == 1 ? 1 : 2 * together;
  const std::size_t count = (prompts.size() + most - 1) / most;
  std::vector<std::vector<std::size_t>> units(count);
  for (std::size_t unit = 0; unit < count; ++unit)
    for (std::size_t place = prompts.size() * unit / count;
         place < prompts.size() * (unit + 1) / count; ++place)
      units[unit].push_back(place);
  return units;
}

int PreparedRun::turns() const {
  int all = 0;
  for (const PreparedPrompt& prompt : prompts) all += prompt.turns();
  return all;
}

absl::Status CheckModels(const Experiment& experiment, ModelShelf& outline) {
  Errors errors;
  for (const ExperimentCell& cell : experiment.cells) {
    errors.Add(
        ErrorAt(cell.target_place, outline.OpenTarget(cell.target).status()));
    for (const NamedModel& model : cell.spec.models)
      errors.Add(CheckIsThere(model));
  }
  return errors.status();
}

absl::StatusOr<PreparedRun> PrepareRun(
    const Experiment& experiment, const Workload& workload, ModelShelf& shelf,
    std::shared_ptr<const Clock> clock,
    const std::function<void(int done, int all)>& progress) {
  PreparedRun run;
  run.workload_prompts = static_cast<int>(workload.prompts.size());
  Errors errors;
  std::vector<int> chosen;
  if (!workload.prompts.empty()) {
    absl::StatusOr<std::vector<int>> choice =
        ChoosePrompts(experiment.workload, workload);
    errors.Add(choice.status());
    if (choice.ok()) chosen = *std::move(choice);
  }
  run.cells = PrepareCells(experiment, shelf, clock, progress, errors);
  for (int number : chosen) {
    const WorkloadPrompt& prompt =
        workload.prompts[static_cast<std::size_t>(number)];
    absl::StatusOr<PreparedPrompt> prepared =
        PreparePrompt(number, prompt, run.cells);
    if (experiment.workload.chat.empty())
      run.left_out += static_cast<int>(prompt.later.size());
    if (prepared.ok())
      run.prompts.push_back(*std::move(prepared));
    else
      errors.Add(absl::InvalidArgumentError(
          absl::StrCat(workload.path, ": prompt ", prompt.id, ": ",
                       prepared.status().message())));
  }
  BANYAN_RETURN_IF_ERROR(errors.status());
  int longest = 0;
  for (const PreparedPrompt& prompt : run.prompts)
    longest = std::max(longest, prompt.longest);
  std::set<std::string> notes;
  for (const PreparedCell& cell : run.cells) {
    for (std::string& note : NotesOn(cell.method, longest))
      notes.insert(std::move(note));
    if (cell.chat.has_value() && !cell.chat->warning().empty())
      notes.insert(
          absl::StrCat("warning: workload.chat: ", cell.chat->warning()));
  }
  run.notes.assign(notes.begin(), notes.end());
  return run;
}

}  // namespace banyan
