#include "experiments/run/measure_drafters.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "decode/method.h"
#include "drafters/drafter.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/measured.h"
#include "experiments/plan/model_spec.h"
#include "experiments/plan/one_drafter.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/count_costs.h"
#include "experiments/run/machine_costs.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_prompts.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/recording.h"

namespace banyan {
namespace {

absl::StatusOr<std::vector<records::PromptRecord>> DecodeAll(
    PreparedCell& cell, const PreparedRun& run) {
  std::vector<Asked> asked;
  for (const PreparedPrompt& prompt : run.prompts)
    asked.push_back({&prompt, 0, prompt.number, prompt.tokens});
  BANYAN_ASSIGN_OR_RETURN(OpenCell open, OpenCell::Of(cell));
  return DecodeAsked(*open, asked, (*open).stop);
}

// Returns a text that is the same for cells of one drafter that draft the same
// chain or tree of the same draws: at temperature 0 methods of several kinds of
// draws do.
std::string DraftsOf(const records::Cell& cell) {
  std::string drafts =
      absl::StrCat(cell.target().directory(), "\n", cell.target().weights(),
                   "\n", cell.temperature(), "\n", cell.batch());
  for (const records::Trunk& trunk : cell.trunks())
    absl::StrAppend(&drafts, "\n", trunk.identity(), " ", trunk.draws(), " ",
                    trunk.policy());
  return drafts;
}

// Keeps the first level of each drafter in each setting.
void DropSecondLevels(std::vector<LevelCosts>& levels) {
  std::vector<LevelCosts> kept;
  for (LevelCosts& level : levels)
    if (std::none_of(kept.begin(), kept.end(), [&](const LevelCosts& other) {
          return other.setting == level.setting && other.draws == level.draws &&
                 other.drafter == level.drafter;
        }))
      kept.push_back(std::move(level));
  levels = std::move(kept);
}

// The heads of a cell's only drafter; 0 if it has none, or is not alone.
int HeadsOf(const PreparedCell& cell) {
  const std::vector<Trunk>& trunks = cell.method.decoder->method().trunks;
  return trunks.size() == 1 ? trunks.front().drafter->traits().depth_heads : 0;
}

absl::StatusOr<PreparedRun> Prepared(const DrafterTask& task,
                                     std::vector<ExperimentCell> cells) {
  const Experiment experiment = {.workload = task.experiment.workload,
                                 .cells = std::move(cells)};
  return PrepareRun(experiment, task.workload, task.shelf, task.clock);
}

// Of the lossless cells whose drafter has heads, each drafter once.
absl::Status CountAllHeads(const DrafterTask& task,
                           const std::vector<ExperimentCell>& counted,
                           const PreparedRun& run, Costs& costs) {
  std::vector<ExperimentCell> cells;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const int heads = HeadsOf(run.cells[i]);
    if (heads == 0 || !run.cells[i].description.lossless()) continue;
    const bool is_new = std::none_of(
        cells.begin(), cells.end(), [&](const ExperimentCell& other) {
          return other.target == counted[i].target &&
                 TemperatureOf(other) == TemperatureOf(counted[i]) &&
                 other.method == counted[i].method;
        });
    if (is_new) cells.push_back(HeadsCell(counted[i], heads, task.count.ranks));
  }
  if (cells.empty()) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(PreparedRun with, Prepared(task, std::move(cells)));
  for (PreparedCell& cell : with.cells) {
    BANYAN_ASSIGN_OR_RETURN(const std::vector<records::PromptRecord> records,
                            DecodeAll(cell, with));
    HeadTable table = CountHeads(cell.description, records);
    if (!table.positions.empty()) costs.heads.push_back(std::move(table));
  }
  return absl::OkStatus();
}

// A table holds for a target in one format and in one amount of memory.
absl::Status CheckTargets(const DrafterTask& task,
                          const std::vector<ModelSpec>& targets) {
  for (std::size_t i = 0; i < targets.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (FolderName(targets[i].directory) ==
              FolderName(targets[j].directory) &&
          targets[i].weights == targets[j].weights &&
          targets[i].memory == targets[j].memory)
        return absl::InvalidArgumentError(absl::StrCat(
            task.file, ": ", targets[j].directory, " and ",
            targets[i].directory,
            " have one name in tables of costs; measure them one by one"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Costs> MeasureDrafters(const DrafterTask& task) {
  BANYAN_ASSIGN_OR_RETURN(const DrafterPlan plan,
                          PlanDrafters(task.experiment, task.count));
  if (plan.counted.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(task.file, ": no method has a drafter to measure"));
  BANYAN_RETURN_IF_ERROR(CheckTargets(task, plan.times.targets));
  // What is wrong with any cell is told before the first is timed.
  BANYAN_ASSIGN_OR_RETURN(PreparedRun run, Prepared(task, plan.counted));
  AcceptanceCounter counter;
  for (const PreparedCell& cell : run.cells)
    if (const absl::Status alike = counter.Add(cell.description, {});
        !alike.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(task.file, ": ", alike.message()));
  BANYAN_ASSIGN_OR_RETURN(Costs costs,
                          MeasureCosts({.plan = plan.times,
                                        .spec = task.experiment.workload,
                                        .workload = task.workload,
                                        .shelf = task.shelf,
                                        .clock = task.clock,
                                        .timing = task.timing,
                                        .progress = task.measuring}));
  DropSecondLevels(costs.levels);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < run.cells.size(); ++i) {
    task.counting(static_cast<int>(i), static_cast<int>(run.cells.size()));
    const records::Cell& cell = run.cells[i].description;
    if (run.cells[i].setting != i ||
        (cell.trunks_size() == 1 && !seen.insert(DraftsOf(cell)).second))
      continue;
    BANYAN_ASSIGN_OR_RETURN(const std::vector<records::PromptRecord> records,
                            DecodeAll(run.cells[i], run));
    for (const records::PromptRecord& record : records)
      BANYAN_RETURN_IF_ERROR(counter.Add(cell, record));
  }
  costs.acceptance = counter.Tables();
  if (costs.acceptance.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        task.file, ": no lossless method proposed anything on these prompts"));
  BANYAN_RETURN_IF_ERROR(CountAllHeads(task, plan.counted, run, costs));
  return costs;
}

}  // namespace banyan
