#include "experiments/commands/shared/open_experiment.h"

#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <utility>

#include "absl/algorithm/container.h"
#include "configs/loader/yaml.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "core/ops/devices.h"
#include "core/terminal/columns.h"
#include "experiments/commands/shared/output.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/measured.h"
#include "experiments/plan/read_experiment.h"
#include "experiments/run/machine_costs.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/progress.h"

namespace banyan {
namespace {

// Puts in what the experiment leaves to this machine's costs: those recorded in
// the run's folder, or as they are now.
absl::Status PutCostsIn(const ExperimentOptions& options, const Shard& shard,
                        const std::shared_ptr<const Clock>& clock,
                        bool stand_ins, Onto onto, OpenedExperiment& opened) {
  Experiment& experiment = opened.experiment;
  BANYAN_ASSIGN_OR_RETURN(const CostPlan plan, PlanCosts(experiment));
  std::optional<Costs> costs;
  const RankGroup& ranks = opened.ranks;
  if (!options.out.empty() && ranks.writes()) {
    BANYAN_ASSIGN_OR_RETURN(
        costs,
        RecordedCosts(options.out, RecordPath(options.out, shard), experiment,
                      plan, DescribeMachine(*opened.backend, ranks.model.get()),
                      onto));
  }
  if (ranks.control != nullptr) {
    BANYAN_ASSIGN_OR_RETURN(costs,
                            CostsOfRankZero(costs, plan, *ranks.control));
  }
  if (!costs.has_value()) {
    ModelShelf shelf(
        stand_ins ? OutlineOf(opened.backend) : opened.backend,
        [](const std::string& /*warning*/) {}, ranks.model);
    BANYAN_ASSIGN_OR_RETURN(
        costs, MeasureCosts(
                   {.plan = plan,
                    .spec = experiment.workload,
                    .workload = opened.workload,
                    .shelf = shelf,
                    .clock = clock,
                    .outline = stand_ins,
                    .progress = stand_ins ? nullptr : MeasuringProgress(*clock),
                    .ranks = ranks.control.get()}));
  }
  opened.costs = ToRecord(plan, *costs);
  return Complete(*costs, experiment);
}

// Before anything is decoded. Ranks that decode other prompts with other files
// would give other texts.
absl::Status CheckExperimentAlike(const OpenedExperiment& opened) {
  if (opened.ranks.control == nullptr) return absl::OkStatus();
  std::vector<std::string> targets;
  for (const ExperimentCell& cell : opened.experiment.cells)
    if (!absl::c_linear_search(targets, cell.target.directory))
      targets.push_back(cell.target.directory);
  Traits traits = {{"experiment", opened.experiment.hash},
                   {opened.workload.path, opened.workload.hash}};
  if (opened.experiment.measured)
    for (auto& trait : FileTraits(targets)) traits.push_back(std::move(trait));
  return CheckAlike(*opened.ranks.control, traits);
}

absl::Status CheckFilesAlike(const OpenedExperiment& opened) {
  if (opened.ranks.control == nullptr) return absl::OkStatus();
  Traits traits;
  for (const PreparedCell& cell : opened.run.cells)
    for (const records::File& file : cell.description.files())
      traits.emplace_back(file.path(), file.fingerprint());
  return CheckAlike(*opened.ranks.control, traits);
}

}  // namespace

absl::StatusOr<PreparedRun> PrepareShown(
    const OpenedExperiment& opened, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock) {
  StepProgress progress("preparing cells", *clock);
  BANYAN_ASSIGN_OR_RETURN(
      PreparedRun run,
      PrepareRun(opened.experiment, opened.workload, shelf, clock,
                 [&](int done, int all) { progress.Show(done, all); }));
  RepeatPlain(run);
  return run;
}

std::function<void(int done, int all)> MeasuringProgress(const Clock& clock) {
  const auto drawn = std::make_shared<StepProgress>("measuring costs", clock);
  return [drawn](int done, int all) {
    if (isatty(STDERR_FILENO) == 1)
      drawn->Show(done, all);
    else if (done == 0)
      std::cerr
          << "banyan: measuring what passes and drafted levels cost here\n";
  };
}

void AddExperimentOptions(Command& command, ExperimentOptions& options) {
  command.Option("FILE", &options.file, "The experiment, YAML.").Required();
  command.Option("--set", &options.settings,
                 "PATH=VALUE: a setting instead of the file's; may be "
                 "given again.");
  command
      .Option("--cut", &options.cut,
              "What shards divide: prompts; or cells, where every shard "
              "repeats plain decoding (for few prompts and many cells).")
      .OneOf({kCutPrompts, kCutCells})
      .ShowDefault();
  AddDeviceOptions(command, options.device);
  AddRoundsOption(command, options.rounds);
}

absl::StatusOr<OpenedExperiment> OpenExperiment(
    const ExperimentOptions& options, const Shard& shard,
    const std::shared_ptr<const Clock>& clock, Opening opening, Onto onto) {
  BANYAN_ASSIGN_OR_RETURN(const Params file, LoadYamlFile(options.file));
  std::vector<std::pair<std::string, Params>> settings;
  for (const std::string& text : options.settings) {
    BANYAN_ASSIGN_OR_RETURN(auto setting, ReadSetting(text));
    settings.push_back(std::move(setting));
  }
  if (!options.rounds.empty())
    settings.emplace_back("rounds", Params::Scalar(options.rounds));
  OpenedExperiment opened;
  BANYAN_ASSIGN_OR_RETURN(opened.backend, OpenDevice(options.device));
  BANYAN_ASSIGN_OR_RETURN(opened.ranks,
                          OpenRanks(options.ranks, *opened.backend, *clock));
  Errors errors;  // of the file, the workload and the models together
  opened.experiment = ReadExperiment(file, settings, errors);
  if (const WorkloadSpec& spec = opened.experiment.workload;
      !spec.file.empty()) {
    absl::StatusOr<Workload> workload = ReadWorkload(spec.file);
    errors.Add(ErrorAt(spec.section.PlaceOf("file"), workload.status()));
    if (workload.ok()) errors.Add(GroupKinds(spec, *workload));
    if (workload.ok()) opened.workload = *std::move(workload);
  }
  if (errors.empty()) BANYAN_RETURN_IF_ERROR(CheckExperimentAlike(opened));
  if (opened.experiment.measured) {
    // Values still `measured` must not be reported as errors.
    BANYAN_RETURN_IF_ERROR(errors.status());
    ModelShelf outline(OutlineOf(opened.backend));
    BANYAN_RETURN_IF_ERROR(CheckModels(opened.experiment, outline));
    BANYAN_RETURN_IF_ERROR(PutCostsIn(
        options, shard, clock, opening == Opening::kStandIns, onto, opened));
  }
  // With something wrong nothing will be decoded.
  const bool outline = opening != Opening::kWhole || !errors.empty();
  ModelShelf shelf(outline ? OutlineOf(opened.backend) : opened.backend,
                   PrintWarning, opened.ranks.model);
  absl::StatusOr<PreparedRun> run = PrepareShown(opened, shelf, clock);
  errors.Add(run.status());
  BANYAN_RETURN_IF_ERROR(errors.status());
  opened.run = *std::move(run);
  BANYAN_RETURN_IF_ERROR(CheckFilesAlike(opened));
  BANYAN_RETURN_IF_ERROR(RanksAreReady(opened.ranks));
  return opened;
}

void PrintNotes(const ExperimentOptions& options,
                const OpenedExperiment& opened, int shards) {
  if (opened.run.left_out > 0)
    std::cerr << "banyan: " << opened.workload.path << ": "
              << Counted(opened.run.left_out, "later turn")
              << " left out; workload.chat says how to write them\n";
  for (const std::string& note : opened.run.notes)
    std::cerr << "banyan: " << Visible(note) << "\n";
  for (const std::string& note : opened.experiment.notes)
    std::cerr << "banyan: " << options.file << ": " << Visible(note) << "\n";
  if (const auto count = opened.experiment.predictions.size(); count > 0)
    std::cerr << "banyan: " << options.file << ": "
              << Counted(static_cast<std::int64_t>(count), "size")
              << " of trees and chains chosen by predicted speed; `banyan "
                 "check` lists them\n";
  const std::vector<std::string> whole = CellsThatCarry(opened.run);
  if (shards > 1 && CutNamed(options.cut) == records::PROMPTS && !whole.empty())
    std::cerr
        << "banyan: each of these cells runs on all prompts in one shard, "
           "together with plain decoding, because it learns from prompt to "
           "prompt: "
        << Visible(absl::StrJoin(whole, ", ")) << "\n";
}

}  // namespace banyan
