#include "experiments/run/prepared_cells.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/clock.h"
#include "core/base/nearest.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/model/model.h"
#include "core/tokenizer/chat_template.h"
#include "decode/method.h"
#include "experiments/plan/errors.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/params_edit.h"
#include "experiments/plan/workload.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/fingerprint.h"
#include "experiments/run/loaded_model.h"
#include "experiments/run/method_file.h"
#include "experiments/run/model_shelf.h"
#include "experiments/run/to_record.h"

namespace banyan {
namespace {

void Describe(const ModelSpec& spec, const Model& model, records::Model& out) {
  const ModelFacts facts = model.facts();
  out.set_directory(spec.directory);
  out.set_weights(std::string(Name(facts.format)));
  out.set_grown_from(std::string(model.grown_from()));
  out.set_streamed_bytes(facts.streamed_bytes);
  out.set_fingerprint(Fingerprint(spec.directory));
}

void DescribeMethod(const Method& method, records::Cell& out) {
  out.set_verifier(method.verifier_name);
  out.set_lossless(IsLossless(method));
  out.set_temperature(method.rule.options().temperature);
  for (const Trunk& trunk : method.trunks) {
    records::Trunk& to = *out.add_trunks();
    to.set_drafter(trunk.drafter_name);
    to.set_policy(trunk.policy_name);
    to.set_law(ToRecord(trunk.law));
    to.set_carries_state(trunk.drafter->carries_state());
  }
}

void DescribeModels(const LoadedMethod& method, records::Cell& out) {
  for (const MethodModel& model : method.models) {
    records::Model& to = *out.add_models();
    to.set_name(model.name);
    if (model.model != nullptr) {
      Describe({model.directory, ""}, *model.model, to);
    } else {
      to.set_directory(model.directory);
      to.set_fingerprint(Fingerprint(model.directory));
    }
  }
}

records::Cell DescribeCell(const ExperimentCell& cell,
                           const PreparedCell& prepared) {
  records::Cell out;
  out.set_name(cell.name);
  out.set_method(cell.method);
  for (const auto& [name, value] : cell.axes) {
    records::Axis& axis = *out.add_axes();
    axis.set_name(name);
    axis.set_value(value);
  }
  out.mutable_target()->set_name(
      std::filesystem::path(cell.target.directory).filename().string());
  Describe(cell.target, *prepared.target.model, *out.mutable_target());
  DescribeModels(prepared.method, out);
  DescribeMethod(prepared.method.decoder->method(), out);
  out.set_sampling(ToYaml(Params::Map(cell.sampling)));
  out.set_seed(cell.seed);
  out.set_baseline(static_cast<std::uint32_t>(cell.baseline));
  out.set_max_new_tokens(cell.max_new_tokens);
  if (prepared.chat.has_value())
    out.set_chat(std::string(prepared.chat->name()));
  if (cell.batch > 1) out.set_batch(static_cast<std::uint32_t>(cell.batch));
  return out;
}

// How the target writes chats; an error if it has no tokenizer, or nothing to
// know the template by.
absl::StatusOr<std::optional<ChatTemplate>> ReadChat(
    const std::string& name, const LoadedModel& target) {
  if (name.empty()) return std::nullopt;
  if (target.tokenizer == nullptr)
    return absl::InvalidArgumentError(
        "the target's directory has no tokenizer.json to write chats with");
  absl::StatusOr<ChatTemplate> chat = ChatTemplate::ForModel(
      *target.tokenizer, name == kOwnTemplate ? "" : name);
  if (!chat.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("workload.chat: ", chat.status().message()));
  return *std::move(chat);
}

absl::StatusOr<PreparedCell> PrepareCell(
    const ExperimentCell& cell, const std::string& chat, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock) {
  const MethodContext context = {.target = cell.target,
                                 .shelf = shelf,
                                 .sampling = cell.sampling,
                                 .clock = clock};
  PreparedCell prepared;
  BANYAN_ASSIGN_OR_RETURN(prepared.target, shelf.Open(cell.target));
  if (cell.method == kPlainMethod) {
    BANYAN_ASSIGN_OR_RETURN(prepared.method, PlainMethod(context));
  } else {
    BANYAN_ASSIGN_OR_RETURN(prepared.method,
                            ReadMethodFile(cell.section, context));
  }
  BANYAN_ASSIGN_OR_RETURN(prepared.chat, ReadChat(chat, prepared.target));
  prepared.method.decoder->KeepFacts();
  prepared.stop.max_new_tokens = cell.max_new_tokens;
  if (!cell.ignore_eos)
    prepared.stop.end_of_text = prepared.target.model->facts().end_of_text;
  for (const Trunk& trunk : prepared.method.decoder->method().trunks)
    prepared.carries_state |= trunk.drafter->carries_state();
  prepared.batch = cell.batch;
  if (prepared.batch > 1 && prepared.carries_state)
    return absl::InvalidArgumentError(absl::StrCat(
        "cell ", cell.name,
        " learns from one prompt for the next: its prompts cannot be decoded ",
        prepared.batch, " at a time"));
  prepared.description = DescribeCell(cell, prepared);
  return prepared;
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
  if (prompt.text.empty())
    return absl::InvalidArgumentError("token ids cannot be written as a chat");
  BANYAN_ASSIGN_OR_RETURN(wanted.tokens, ChatTokens(cell, prepared, {}));
  const std::vector<std::string> answers(prepared.chat.size() - 1);
  BANYAN_ASSIGN_OR_RETURN(const std::vector<TokenId> last,
                          ChatTokens(cell, prepared, answers));
  wanted.length = static_cast<int>(last.size());
  return wanted;
}

// The target and whatever models draft for it hold so many tokens.
absl::Status CheckRoom(const PreparedCell& cell, int asked, int answered) {
  const auto fits = [&](const Model& model, const std::string& whose) {
    if (asked + answered <= model.context_limit()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        asked, " tokens and ", answered, " new ones do not fit the context of ",
        model.context_limit(), whose, " (cell ", cell.description.name(), ")"));
  };
  BANYAN_RETURN_IF_ERROR(fits(*cell.target.model, ""));
  for (const MethodModel& drafter : cell.method.models)
    if (drafter.model != nullptr)
      BANYAN_RETURN_IF_ERROR(
          fits(*drafter.model,
               absl::StrCat(" of the drafting model ", drafter.name)));
  return absl::OkStatus();
}

// One prompt with room for it in every cell.
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
    BANYAN_RETURN_IF_ERROR(CheckRoom(
        cell, wanted.length, prepared.turns() * cell.stop.max_new_tokens));
  }
  return prepared;
}

}  // namespace

absl::StatusOr<std::vector<int>> ChoosePrompts(const WorkloadSpec& spec,
                                               const Workload& workload) {
  std::set<std::string> known;
  for (const WorkloadPrompt& prompt : workload.prompts)
    known.insert(prompt.kind);
  for (const std::string& kind : spec.kinds)
    if (known.count(kind) == 0)
      return absl::InvalidArgumentError(absl::StrCat(
          workload.path, ": ",
          UnknownName(
              "kind of prompt", kind,
              std::vector<absl::string_view>(known.begin(), known.end()))));
  std::vector<int> fitting;
  for (std::size_t i = 0; i < workload.prompts.size(); ++i) {
    const std::string& kind = workload.prompts[i].kind;
    if (spec.kinds.empty() || std::find(spec.kinds.begin(), spec.kinds.end(),
                                        kind) != spec.kinds.end())
      fitting.push_back(static_cast<int>(i));
  }
  const auto wanted = spec.prompts == 0
                          ? fitting.size()
                          : static_cast<std::size_t>(spec.prompts);
  if (wanted > fitting.size() || fitting.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        workload.path, ": ", fitting.size(),
        " prompts of the kinds wanted, and the experiment wants ", wanted));
  std::vector<int> chosen;
  for (std::size_t i = 0; i < wanted; ++i)
    chosen.push_back(fitting[(i * fitting.size() / wanted +
                              static_cast<std::size_t>(spec.offset)) %
                             fitting.size()]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

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

absl::StatusOr<std::vector<TokenId>> ChatTokens(
    const PreparedCell& cell, const PreparedPrompt& prompt,
    absl::Span<const std::string> answers) {
  std::vector<ChatMessage> messages;
  for (std::size_t i = 0; i <= answers.size(); ++i) {
    messages.push_back({.role = "user", .content = prompt.chat[i]});
    if (i < answers.size())
      messages.push_back({.role = "assistant", .content = answers[i]});
  }
  BANYAN_ASSIGN_OR_RETURN(const std::string text, cell.chat->Render(messages));
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
  if (prompt.text.empty()) return prompt.ids;
  if (target.tokenizer == nullptr)
    return absl::InvalidArgumentError(
        "the target's directory has no tokenizer.json; the workload is text");
  BANYAN_ASSIGN_OR_RETURN(std::vector<TokenId> tokens,
                          target.tokenizer->Encode(prompt.text));
  if (tokens.empty())
    return absl::InvalidArgumentError("the text gives no token");
  return tokens;
}

absl::StatusOr<PreparedRun> PrepareRun(const Experiment& experiment,
                                       const Workload& workload,
                                       ModelShelf& shelf,
                                       std::shared_ptr<const Clock> clock) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<int> chosen,
                          ChoosePrompts(experiment.workload, workload));
  PreparedRun run;
  run.workload_prompts = static_cast<int>(workload.prompts.size());
  Errors errors;
  for (const ExperimentCell& cell : experiment.cells) {
    absl::StatusOr<PreparedCell> prepared =
        PrepareCell(cell, experiment.workload.chat, shelf, clock);
    if (prepared.ok())
      run.cells.push_back(*std::move(prepared));
    else
      errors.Add(prepared.status());
  }
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
  return run;
}

}  // namespace banyan
