#include "experiments/plan/workload.h"

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/read_file.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "experiments/plan/errors.h"
#include "experiments/plan/fnv1a.h"
#include "nlohmann/json.hpp"

namespace banyan {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr std::size_t kMostErrors = 20;

// The text of a key that a line may have; numbers are written out.
std::string TextOf(const Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return found->is_number_integer() ? found->dump() : "";
}

absl::Status ReadIds(const Json& list, WorkloadPrompt& prompt) {
  for (const Json& id : list) {
    if (!id.is_number_integer() || id.get<double>() < 0 ||
        id.get<double>() > 0x7fffffff)
      return absl::InvalidArgumentError(
          absl::StrCat("'ids': expected token ids, found ", id.dump()));
    prompt.ids.push_back(id.get<TokenId>());
  }
  return absl::OkStatus();
}

absl::Status ReadTurns(const Json& list, WorkloadPrompt& prompt) {
  if (!list.is_array())
    return absl::InvalidArgumentError(
        absl::StrCat("'turns': expected a list of texts, found ", list.dump()));
  for (const Json& turn : list) {
    if (!turn.is_string() || turn.get_ref<const std::string&>().empty())
      return absl::InvalidArgumentError(
          absl::StrCat("'turns': expected texts, found ", turn.dump()));
    if (prompt.text.empty())
      prompt.text = turn.get<std::string>();
    else
      prompt.later.push_back(turn.get<std::string>());
  }
  return absl::OkStatus();
}

absl::StatusOr<WorkloadPrompt> FromJson(const Json& line) {
  if (!line.is_object())
    return absl::InvalidArgumentError("expected a JSON object");
  WorkloadPrompt prompt = {.id = TextOf(line, "id"),
                           .kind = TextOf(line, "kind"),
                           .text = {},
                           .ids = {}};
  if (line.contains("prompt") + line.contains("turns") + line.contains("ids") >
      1)
    return absl::InvalidArgumentError(
        "expected one of 'prompt', 'turns' and 'ids', found several");
  if (const auto text = line.find("prompt"); text != line.end()) {
    if (!text->is_string())
      return absl::InvalidArgumentError(
          absl::StrCat("'prompt': expected a text, found ", text->dump()));
    prompt.text = text->get<std::string>();
  }
  if (prompt.id.empty()) prompt.id = TextOf(line, "question_id");
  if (prompt.kind.empty()) prompt.kind = TextOf(line, "category");
  const auto turns = line.find("turns");
  if (turns != line.end()) BANYAN_RETURN_IF_ERROR(ReadTurns(*turns, prompt));
  if (const auto ids = line.find("ids"); ids != line.end() && ids->is_array())
    BANYAN_RETURN_IF_ERROR(ReadIds(*ids, prompt));
  if (!line.contains("prompt") && prompt.text.empty() && prompt.ids.empty())
    return absl::InvalidArgumentError(
        "expected a text at 'prompt', texts at 'turns' or token ids at 'ids', "
        "found none");
  return prompt;
}

absl::StatusOr<WorkloadPrompt> FromLine(absl::string_view text, bool json) {
  if (!json) {
    WorkloadPrompt prompt;
    prompt.text = std::string(text);
    return prompt;
  }
  const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (line.is_discarded())
    return absl::InvalidArgumentError("the line is no JSON");
  return FromJson(line);
}

}  // namespace

absl::StatusOr<Workload> ReadWorkload(const std::string& path) {
  BANYAN_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMostBytes));
  const bool json = absl::EndsWith(path, ".jsonl");
  Workload workload = {.path = path,
                       .hash = absl::StrFormat("%016x", Fnv1a(bytes)),
                       .prompts = {}};
  std::set<std::string> ids;
  Errors errors;
  std::size_t number = 0;
  for (absl::string_view line : absl::StrSplit(bytes, '\n')) {
    ++number;
    if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    if (line.empty()) continue;
    absl::StatusOr<WorkloadPrompt> prompt = FromLine(line, json);
    if (prompt.ok() && prompt->id.empty())
      prompt->id = absl::StrCat("line-", number);
    if (prompt.ok() && !ids.insert(prompt->id).second)
      prompt = absl::InvalidArgumentError(
          absl::StrCat("the id '", prompt->id, "' came before"));
    if (prompt.ok()) {
      workload.prompts.push_back(*std::move(prompt));
      continue;
    }
    errors.Add(absl::InvalidArgumentError(
        absl::StrCat(path, ":", number, ": ", prompt.status().message())));
    if (errors.size() == kMostErrors) break;
  }
  BANYAN_RETURN_IF_ERROR(errors.status());
  if (workload.prompts.empty())
    return absl::InvalidArgumentError(absl::StrCat(path, ": no prompt in it"));
  return workload;
}

}  // namespace banyan
