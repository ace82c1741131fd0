#include "experiments/run/prepared_run.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/clock.h"
#include "core/base/errors.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/ops/outline.h"
#include "drafters/assets.h"
#include "drafters/catalogue.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/method_file.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/cell_setting.h"
#include "experiments/plan/choose_prompts.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/resolve.h"
#include "experiments/plan/workload.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_prompts.h"

namespace banyan {
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
