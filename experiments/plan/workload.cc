#include "experiments/plan/workload.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/input_files.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "core/json/json_value.h"

namespace banyan {

namespace {

constexpr std::size_t kMostWorkloadBytes = std::size_t{1} << 30;
constexpr std::size_t kMostErrors = 20;

// The text of a key that a line may have, "" if it has not; numbers are written
// out.
absl::StatusOr<std::string> TextOf(const JsonAt& value) {
  if (value.is_null() || value.is_string()) return value.StringOr("");
  const absl::StatusOr<std::int64_t> number = value.Int();
  if (!number.ok()) return value.Expected("a text or a whole number");
  return absl::StrCat(*number);
}

absl::Status ReadIds(const JsonAt& list, WorkloadPrompt& prompt) {
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> items, list.Items());
  for (const JsonAt& item : items) {
    const std::int64_t id = item.Int().value_or(-1);
    if (id < 0 || id > std::numeric_limits<TokenId>::max())
      return item.Expected("a token id");
    prompt.ids.push_back(static_cast<TokenId>(id));
  }
  return absl::OkStatus();
}

absl::Status ReadTurns(const JsonAt& list, WorkloadPrompt& prompt) {
  if (!list.is_list()) return list.Expected("a list of texts");
  BANYAN_ASSIGN_OR_RETURN(const std::vector<JsonAt> turns, list.Items());
  for (const JsonAt& turn : turns) {
    BANYAN_ASSIGN_OR_RETURN(std::string text, turn.String());
    if (text.empty()) return turn.Expected("a text that is not empty");
    if (prompt.text.empty())
      prompt.text = std::move(text);
    else
      prompt.later.push_back(std::move(text));
  }
  return absl::OkStatus();
}

absl::StatusOr<WorkloadPrompt> FromJson(const JsonAt& line) {
  if (!line.is_object()) return line.Expected("a JSON object");
  const JsonAt text = line.At("prompt");
  const JsonAt turns = line.At("turns");
  const JsonAt ids = line.At("ids");
  if (text.exists() + turns.exists() + ids.exists() > 1)
    return line.Error(
        "expected one of 'prompt', 'turns' and 'ids', found several");
  WorkloadPrompt prompt;
  BANYAN_ASSIGN_OR_RETURN(prompt.id, TextOf(line.At("id")));
  BANYAN_ASSIGN_OR_RETURN(prompt.kind, TextOf(line.At("kind")));
  if (prompt.id.empty()) {
    BANYAN_ASSIGN_OR_RETURN(prompt.id, TextOf(line.At("question_id")));
  }
  if (prompt.kind.empty()) {
    BANYAN_ASSIGN_OR_RETURN(prompt.kind, TextOf(line.At("category")));
  }
  if (text.exists()) {
    BANYAN_ASSIGN_OR_RETURN(prompt.text, text.String());
  }
  if (turns.exists()) BANYAN_RETURN_IF_ERROR(ReadTurns(turns, prompt));
  if (ids.exists()) BANYAN_RETURN_IF_ERROR(ReadIds(ids, prompt));
  if (!text.exists() && prompt.text.empty() && prompt.ids.empty())
    return line.Error(
        "expected a text at 'prompt', texts at 'turns' or token ids at 'ids', "
        "found none");
  return prompt;
}

absl::StatusOr<WorkloadPrompt> FromLine(absl::string_view text,
                                        const std::string& path, int number) {
  if (!absl::EndsWith(path, ".jsonl")) {
    WorkloadPrompt prompt;
    prompt.text = std::string(text);
    return prompt;
  }
  BANYAN_ASSIGN_OR_RETURN(const JsonTree line,
                          JsonTree::ParseLine(text, path, number));
  return FromJson(line.root());
}

}  // namespace

absl::StatusOr<Workload> ReadWorkload(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const std::string bytes,
                          ReadFile(path, kMostWorkloadBytes));
  Workload workload = {.path = path,
                       .hash = absl::StrFormat("%016x", Fnv1a(bytes)),
                       .prompts = {}};
  std::set<std::string> ids;
  Errors errors;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(bytes, '\n')) {
    ++number;
    if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    if (line.empty()) continue;
    absl::StatusOr<WorkloadPrompt> prompt = FromLine(line, path, number);
    if (prompt.ok() && prompt->id.empty())
      prompt->id = absl::StrCat("line-", number);
    if (prompt.ok() && !ids.insert(prompt->id).second)
      prompt = absl::InvalidArgumentError(absl::StrCat(
          path, ":", number, ": the id '", prompt->id, "' came before"));
    if (prompt.ok()) {
      workload.prompts.push_back(*std::move(prompt));
      continue;
    }
    errors.Add(prompt.status());
    if (errors.size() == kMostErrors) break;
  }
  BANYAN_RETURN_IF_ERROR(errors.status());
  if (workload.prompts.empty())
    return absl::InvalidArgumentError(absl::StrCat(path, ": no prompt in it"));
  return workload;
}

namespace {

absl::Status CheckKinds(const std::vector<std::string>& kinds,
                        const Origin& place, const Workload& workload) {
  std::set<std::string> known;
  for (const WorkloadPrompt& prompt : workload.prompts)
    known.insert(prompt.kind);
  for (const std::string& kind : kinds)
    if (known.count(kind) == 0)
      return ErrorAt(
          place, absl::StrCat(workload.path, ": ",
                              UnknownName("kind of prompt", kind,
                                          std::vector<absl::string_view>(
                                              known.begin(), known.end()))));
  return absl::OkStatus();
}

}  // namespace

absl::Status GroupKinds(const WorkloadSpec& spec, Workload& workload) {
  std::map<std::string, std::string> group_of;
  const Params* section = spec.section.Find("groups");
  for (const auto& [name, kinds] : spec.groups) {
    const Origin place = section == nullptr ? Origin() : section->PlaceOf(name);
    BANYAN_RETURN_IF_ERROR(CheckKinds(kinds, place, workload));
    for (const std::string& kind : kinds)
      if (!group_of.emplace(kind, name).second)
        return ErrorAt(place, absl::StrCat("workload.groups: the kind '", kind,
                                           "' is in a group already, '",
                                           group_of[kind], "'"));
  }
  for (WorkloadPrompt& prompt : workload.prompts)
    if (const auto found = group_of.find(prompt.kind); found != group_of.end())
      prompt.kind = found->second;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int>> ChoosePrompts(const WorkloadSpec& spec,
                                               const Workload& workload) {
  BANYAN_RETURN_IF_ERROR(
      CheckKinds(spec.kinds, spec.section.PlaceOf("kinds"), workload));
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
    return ErrorAt(spec.section.PlaceOf("prompts"),
                   absl::StrCat(workload.path, ": expected ",
                                std::max<std::size_t>(wanted, 1),
                                " prompts or more of the kinds wanted, found ",
                                fitting.size()));
  std::vector<int> chosen;
  for (std::size_t i = 0; i < wanted; ++i)
    chosen.push_back(fitting[(i * fitting.size() / wanted +
                              static_cast<std::size_t>(spec.offset)) %
                             fitting.size()]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace banyan
