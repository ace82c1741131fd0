// banyan run: an experiment, into a record file. banyan check: what would run.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "configs/loader/loader.h"
#include "core/base/clock.h"
#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/params.h"
#include "core/base/status_macros.h"
#include "core/ops/backend.h"
#include "core/ops/outline.h"
#include "core/text/columns.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/device_options.h"
#include "experiments/commands/shared/warnings.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/choose_prompts.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/measured.h"
#include "experiments/plan/workload.h"
#include "experiments/records/claims.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/answer.h"
#include "experiments/run/estimate.h"
#include "experiments/run/level_costs.h"
#include "experiments/run/machine_costs.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/progress.h"
#include "experiments/run/run_context.h"
#include "experiments/run/run_file.h"
#include "experiments/run/runner.h"

namespace banyan {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> settings;
  DeviceChoice device;
  std::string out;
  std::string shard = "0/1";
  bool resolved = false;
};

// Everything there is before the first token.
struct Opened {
  // Of an experiment that says `measured`.
  std::optional<records::MachineCosts> costs;
  Experiment experiment;
  Workload workload;
  std::shared_ptr<Backend> backend;
  PreparedRun run;
};

// Many cells take a while.
void ShowPreparing(int done, int all) {
  constexpr int kSoonDone = 100;
  if (all <= kSoonDone || isatty(STDERR_FILENO) != 1) return;
  std::cerr << "\rpreparing cell " << done + 1 << " of " << all << std::flush;
  if (done + 1 == all) std::cerr << "\r\033[K";
}

void ShowMeasuring(const std::string& what) {
  std::cerr << "banyan: measuring " << Visible(what) << "\n";
}

// Puts in what the experiment leaves to this machine's costs: those recorded in
// the run's folder, or as they are now. `outline`: stand-ins for them.
absl::Status PutCostsIn(const Options& options,
                        const std::shared_ptr<const Clock>& clock, bool outline,
                        Opened& opened) {
  Experiment& experiment = opened.experiment;
  BANYAN_ASSIGN_OR_RETURN(const CostPlan plan, PlanCosts(experiment));
  std::optional<MachineCosts> costs;
  if (!options.out.empty()) {
    BANYAN_ASSIGN_OR_RETURN(const Shard shard, ReadShard(options.shard));
    BANYAN_ASSIGN_OR_RETURN(
        costs,
        RecordedCosts(options.out, RecordPath(options.out, shard), experiment,
                      plan, DescribeMachine(*opened.backend)));
  }
  if (!costs.has_value()) {
    ModelShelf shelf(outline ? OutlineOf(opened.backend) : opened.backend);
    BANYAN_ASSIGN_OR_RETURN(
        costs, MeasureCosts(experiment, opened.workload, shelf, clock, outline,
                            outline ? nullptr : ShowMeasuring));
  }
  opened.costs = ToRecord(plan, *costs);
  return Complete(*costs, experiment);
}

// `outline`: models without their weights.
absl::StatusOr<Opened> Open(const Options& options,
                            const std::shared_ptr<const Clock>& clock,
                            bool outline) {
  BANYAN_ASSIGN_OR_RETURN(const Params file, LoadYamlFile(options.file));
  std::vector<std::pair<std::string, Params>> settings;
  for (const std::string& text : options.settings) {
    BANYAN_ASSIGN_OR_RETURN(auto setting, ReadSetting(text));
    settings.push_back(std::move(setting));
  }
  Opened opened;
  BANYAN_ASSIGN_OR_RETURN(opened.backend, OpenDevice(options.device));
  Errors errors;  // of the file, the workload and the models together
  opened.experiment = ReadExperiment(file, settings, errors);
  if (!opened.experiment.workload.file.empty()) {
    absl::StatusOr<Workload> workload =
        ReadWorkload(opened.experiment.workload.file);
    errors.Add(workload.status());
    if (workload.ok())
      errors.Add(GroupKinds(opened.experiment.workload, *workload));
    if (workload.ok()) opened.workload = *std::move(workload);
  }
  // With something wrong nothing will be decoded.
  outline |= !errors.empty();
  if (opened.experiment.measured) {
    // Values still `measured` must not be reported as errors.
    BANYAN_RETURN_IF_ERROR(errors.status());
    BANYAN_RETURN_IF_ERROR(
        PutCostsIn(options, clock, options.resolved, opened));
  }
  ModelShelf shelf(outline ? OutlineOf(opened.backend) : opened.backend,
                   PrintWarning);
  absl::StatusOr<PreparedRun> run = PrepareRun(
      opened.experiment, opened.workload, shelf, clock, ShowPreparing);
  errors.Add(run.status());
  BANYAN_RETURN_IF_ERROR(errors.status());
  opened.run = *std::move(run);
  return opened;
}

void PrintNotes(const Options& options, const Opened& opened) {
  if (opened.run.left_out > 0)
    std::cerr << "banyan: " << opened.workload.path << ": "
              << Counted(opened.run.left_out, "later turn")
              << " left out; workload.chat says how to write them\n";
  for (const std::string& note : opened.run.notes)
    std::cerr << "banyan: " << Visible(note) << "\n";
  for (const std::string& note : opened.experiment.notes)
    std::cerr << "banyan: " << options.file << ": " << Visible(note) << "\n";
}

absl::Status Run(const Options& options) {
  const auto clock = std::make_shared<SteadyClock>();
  BANYAN_ASSIGN_OR_RETURN(const Shard shard, ReadShard(options.shard));
  BANYAN_ASSIGN_OR_RETURN(Opened opened,
                          Open(options, clock, /*outline=*/false));
  PrintNotes(options, opened);
  BANYAN_RETURN_IF_ERROR(CheckShards(opened.run, shard));
  BANYAN_ASSIGN_OR_RETURN(
      records::Context context,
      DescribeRun(opened.experiment, opened.workload, opened.run, shard,
                  *opened.backend, *clock));
  if (opened.costs.has_value()) *context.mutable_costs() = *opened.costs;
  if (IsOverloaded(context.machine()))
    PrintWarning(OverloadText(context.machine()));
  BANYAN_ASSIGN_OR_RETURN(RunFile file, OpenRunFile(options.out, context));
  const std::string path = RecordPath(options.out, shard);
  if (file.torn_bytes > 0)
    std::cerr << "banyan: " << path << ": cut a torn record of "
              << file.torn_bytes << " bytes\n";
  if (!file.done.empty())
    std::cerr << "banyan: " << path << ": going on after "
              << Counted(static_cast<std::int64_t>(file.done.size()), "record")
              << "\n";
  RunProgress progress(context,
                       {std::cerr, *clock, isatty(STDERR_FILENO) == 1});
  for (const records::PromptRecord& record : file.done)
    progress.Add(record, /*fresh=*/false);
  BANYAN_RETURN_IF_ERROR(
      RunCells({opened.run, opened.experiment.hash, shard, file},
               [&](const records::PromptRecord& record, int done, int all) {
                 progress.Add(record, /*fresh=*/true);
                 progress.Show(done, all);
               }));
  progress.Finish();
  BANYAN_ASSIGN_OR_RETURN(RecordSet set,
                          ReadRecordSet({options.out}, /*mixed=*/false));
  for (const std::string& warning : set.warnings) PrintWarning(warning);
  SplitByMachine(set);
  std::cout << path << "\n\n"
            << AnswerText(MakeAnswer(set),
                          absl::StrCat("banyan report --all ", options.out));
  return CheckClaims(set);
}

std::string Duration(double seconds) {
  if (seconds < 60) return absl::StrFormat("%.0f s", std::ceil(seconds));
  return absl::StrFormat("%d:%02d min", static_cast<int>(seconds) / 60,
                         static_cast<int>(seconds) % 60);
}

absl::Status PrintEstimate(const Opened& opened, const Clock& clock) {
  const absl::StatusOr<RunEstimate> estimate =
      EstimateRun(opened.run, *opened.backend, clock);
  // The device does not know its limits, or has no memory for finding out.
  if (absl::IsUnimplemented(estimate.status()) ||
      absl::IsResourceExhausted(estimate.status()))
    return absl::OkStatus();
  BANYAN_RETURN_IF_ERROR(estimate.status());
  std::cout << "\nAt best " << Duration(estimate->least_s)
            << ", if every draft were accepted; " << Duration(estimate->most_s)
            << " if none, at what this machine can do just now.\n";
  return absl::OkStatus();
}

// Where no method can win whatever it accepts, since a pass of so small a
// target costs less than a drafted level.
absl::Status WarnOfLevels(const Options& options,
                          const std::shared_ptr<const Clock>& clock,
                          const PreparedRun& outlined) {
  for (const PreparedCell& cell : outlined.cells)
    if (cell.description.target().streamed_bytes() > kMostTriedBytes)
      return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(Opened opened,
                          Open(options, clock, /*outline=*/false));
  BANYAN_ASSIGN_OR_RETURN(const std::vector<LevelCost> costs,
                          TryLevels(opened.run));
  double least = std::numeric_limits<double>::infinity();
  for (const LevelCost& cost : costs)
    least = std::min(least, cost.plain_passes);
  if (!costs.empty() && least >= 1)
    PrintWarning(absl::StrFormat(
        "no method can be faster than plain decoding here: a drafted level "
        "costs %.2f plain passes or more. On a larger target a pass costs more "
        "(banyan grow)",
        least));
  return absl::OkStatus();
}

absl::Status Check(const Options& options) {
  const auto clock = std::make_shared<SteadyClock>();
  BANYAN_ASSIGN_OR_RETURN(const Opened opened,
                          Open(options, clock, /*outline=*/true));
  PrintNotes(options, opened);
  if (options.resolved) {
    std::cout << opened.experiment.resolved;
    return absl::OkStatus();
  }
  std::cout << Visible(opened.experiment.question) << "\n\n"
            << Counted(static_cast<std::int64_t>(opened.run.cells.size()),
                       "cell")
            << " on "
            << Counted(static_cast<std::int64_t>(opened.run.prompts.size()),
                       "prompt")
            << " (" << Counted(opened.run.turns(), "turn") << ") of "
            << opened.workload.path << "\n\n";
  for (const PreparedCell& cell : opened.run.cells) {
    const records::Cell& about = cell.description;
    std::string line = absl::StrFormat(
        "%s %s%s", Padded(Visible(about.name()), 56),
        about.lossless() ? "" : "LOSSY ",
        about.target().grown_from().empty()
            ? ""
            : absl::StrCat("grown (", about.target().grown_from(), ")"));
    absl::StripTrailingAsciiWhitespace(&line);
    std::cout << line << "\n";
  }
  BANYAN_RETURN_IF_ERROR(PrintEstimate(opened, *clock));
  // The chosen sizes already show whether drafting pays.
  if (opened.costs.has_value()) return absl::OkStatus();
  return WarnOfLevels(options, clock, opened.run);
}

void AddCommon(Command& command, Options& options) {
  command.Option("FILE", &options.file, "The experiment, YAML.").Required();
  command.Option("--set", &options.settings,
                 "PATH=VALUE: a setting instead of the file's; may be "
                 "given again.");
  AddDeviceOptions(command, options.device);
}

}  // namespace

void AddRunCommand(CommandLine& line) {
  Command command =
      line.Add("run",
               "Runs an experiment: every method on every prompt, interleaved, "
               "each round recorded. The same command resumes an interrupted "
               "run. Exit status 3: at temperature 0 a method that claims to "
               "be lossless gave another text than plain decoding.",
               "  banyan run configs/hello.yaml --out out/hello");
  const auto options = std::make_shared<Options>();
  AddCommon(command, *options);
  command.Option("--out", &options->out, "The folder of the record file.")
      .Required();
  command.Option("--shard", &options->shard,
                 "I/N: only every Nth prompt, from the Ith on, counted "
                 "from 0. The union of all shards is the whole run.");
  command.OnCall([options] { return Run(*options); });
}

void AddCheckCommand(CommandLine& line) {
  Command command = line.Add("check",
                             "Checks an experiment's keys, models, methods and "
                             "prompts, lists its cells and estimates its time.",
                             "  banyan check configs/hello.yaml");
  const auto options = std::make_shared<Options>();
  AddCommon(command, *options);
  command.Flag("--resolved", &options->resolved,
               "Print the file with presets and settings put in instead.");
  command.OnCall([options] { return Check(*options); });
}

}  // namespace banyan
