// banyan check: what an experiment would run, and how long that would take.
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

#include "absl/strings/ascii.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/json/json_value.h"
#include "core/terminal/columns.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/open_experiment.h"
#include "experiments/commands/shared/output.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/run/estimate.h"
#include "experiments/run/machine_costs.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/progress.h"
#include "experiments/run/run_file.h"
#include "experiments/run/shard.h"

namespace banyan {
namespace {

constexpr char kText[] = "text";
constexpr char kJson[] = "json";

struct Options {
  ExperimentOptions experiment;
  int shards = 1;
  std::string format = kText;
  bool resolved = false;
};

// By shard. None if the device does not know its limits, or has no memory for
// finding out.
using Estimates = std::optional<std::vector<RunEstimate>>;

absl::StatusOr<Estimates> Estimate(const Options& options,
                                   const OpenedExperiment& opened,
                                   const Clock& clock) {
  absl::StatusOr<std::vector<RunEstimate>> estimates = EstimateShards(
      opened.run, options.shards, CutNamed(options.experiment.cut),
      opened.experiment.costs, *opened.backend, clock);
  if (absl::IsUnimplemented(estimates.status()) ||
      absl::IsResourceExhausted(estimates.status()))
    return std::nullopt;
  BANYAN_RETURN_IF_ERROR(estimates.status());
  return Estimates(*std::move(estimates));
}

void PrintEstimates(const Estimates& estimates) {
  if (!estimates.has_value()) return;
  const RunEstimate& longest =
      *std::max_element(estimates->begin(), estimates->end(),
                        [](const RunEstimate& a, const RunEstimate& b) {
                          return a.most_s < b.most_s;
                        });
  std::cout << (estimates->size() > 1 ? "\nThe longest shard: at best "
                                      : "\nAt best ")
            << DurationText(std::ceil(longest.least_s))
            << ", if every draft is accepted; "
            << DurationText(std::ceil(longest.most_s))
            << " if none is (estimated from passes timed just now).\n";
}

// Where no method can win whatever it accepts, since a pass of so small a
// target costs less than a drafted level.
absl::Status WarnOfLevels(const std::shared_ptr<const Clock>& clock,
                          const OpenedExperiment& outlined) {
  for (const PreparedCell& cell : outlined.run.cells)
    if (cell.description.target().streamed_bytes() > kMostTriedBytes)
      return absl::OkStatus();
  ModelShelf shelf(outlined.backend);
  BANYAN_ASSIGN_OR_RETURN(PreparedRun run,
                          PrepareShown(outlined, shelf, clock));
  StepProgress progress("trying cells", *clock);
  BANYAN_ASSIGN_OR_RETURN(
      const std::vector<LevelCost> costs,
      TryLevels(run, [&](int done, int all) { progress.Show(done, all); }));
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

absl::Status PrintText(const Options& options,
                       const std::shared_ptr<const Clock>& clock,
                       const OpenedExperiment& opened) {
  std::cout << Visible(opened.experiment.question) << "\n\n"
            << Counted(
                   static_cast<std::int64_t>(opened.experiment.cells.size()),
                   "cell")
            << " on "
            << Counted(static_cast<std::int64_t>(opened.run.prompts.size()),
                       "prompt")
            << " (" << Counted(opened.run.turns(), "turn") << ") of "
            << opened.workload.path << "\n\n";
  for (const PreparedCell& cell : opened.run.cells) {
    const records::Cell& about = cell.description;
    if (IsRepeat(about)) continue;
    std::string line = absl::StrFormat(
        "%s %s%s", Padded(Visible(about.name()), 56),
        about.lossless() ? "" : "LOSSY ",
        about.target().grown_from().empty()
            ? ""
            : absl::StrCat("grown (", about.target().grown_from(), ")"));
    absl::StripTrailingAsciiWhitespace(&line);
    std::cout << line << "\n";
  }
  BANYAN_ASSIGN_OR_RETURN(const Estimates estimates,
                          Estimate(options, opened, *clock));
  PrintEstimates(estimates);
  // The chosen sizes already show whether drafting pays.
  if (opened.costs.has_value()) return absl::OkStatus();
  return WarnOfLevels(clock, opened);
}

absl::Status PrintJson(const Options& options, const Clock& clock,
                       const OpenedExperiment& opened) {
  BANYAN_ASSIGN_OR_RETURN(const Estimates estimates,
                          Estimate(options, opened, clock));
  JsonValue shards = JsonValue::List();
  std::optional<double> longest_s;
  for (int i = 0; i < options.shards; ++i) {
    const Shard number = {i, options.shards, CutNamed(options.experiment.cut)};
    JsonValue& shard =
        shards.Add({{"shard", i},
                    {"records", CountRecords(opened.run, number)},
                    {"least_s", nullptr},
                    {"most_s", nullptr}});
    if (!estimates.has_value()) continue;
    const RunEstimate& estimate = (*estimates)[static_cast<std::size_t>(i)];
    shard["least_s"] = estimate.least_s;
    shard["most_s"] = estimate.most_s;
    longest_s = std::max(longest_s.value_or(0), estimate.longest_s);
  }
  const JsonValue about = {{"experiment_hash", opened.experiment.hash},
                           {"question", opened.experiment.question},
                           {"cells", opened.experiment.cells.size()},
                           {"prompts", opened.run.prompts.size()},
                           {"turns", opened.run.turns()},
                           {"measured", opened.costs.has_value()},
                           {"cut", options.experiment.cut},
                           {"whole", CellsThatCarry(opened.run)},
                           {"shards", std::move(shards)},
                           {"longest_s", longest_s}};
  std::cout << about.Text() << "\n";
  return absl::OkStatus();
}

absl::Status Check(const Options& options) {
  const auto clock = std::make_shared<SteadyClock>();
  const Shard first = {.count = options.shards,
                       .cut = CutNamed(options.experiment.cut)};
  BANYAN_ASSIGN_OR_RETURN(
      const OpenedExperiment opened,
      OpenExperiment(options.experiment, first, clock,
                     options.resolved ? Opening::kStandIns : Opening::kOutline,
                     Onto::kNew));
  PrintNotes(options.experiment, opened, options.shards);
  for (const std::string& prediction : opened.experiment.predictions)
    std::cerr << "banyan: " << options.experiment.file << ": "
              << Visible(prediction) << "\n";
  if (options.resolved) {
    std::cout << opened.experiment.resolved;
    return absl::OkStatus();
  }
  BANYAN_RETURN_IF_ERROR(CheckShards(opened.run, first));
  if (!options.experiment.out.empty()) {
    BANYAN_ASSIGN_OR_RETURN(
        records::Context context,
        DescribeRun(opened.experiment, opened.workload, opened.run, first,
                    *opened.backend, *clock));
    if (opened.costs.has_value()) *context.mutable_costs() = *opened.costs;
    BANYAN_RETURN_IF_ERROR(CheckRunFolder(options.experiment.out, context));
  }
  return options.format == kJson ? PrintJson(options, *clock, opened)
                                 : PrintText(options, clock, opened);
}

}  // namespace

void AddCheckCommand(CommandLine& line) {
  Command command = line.Add(
      {.name = "check",
       .sentence =
           "Checks an experiment, lists its cells and estimates its time.",
       .more = "It reads the experiment's keys, models, methods and prompts.",
       .example = "  banyan check configs/hello.yaml"});
  const auto options = std::make_shared<Options>();
  AddExperimentOptions(command, options->experiment);
  command
      .Option("--shards", &options->shards,
              "Estimate the longest of this many shards (banyan run --shard).")
      .AtLeast(1)
      .ShowDefault();
  command.Option("--out", &options->experiment.out,
                 "Also check that this folder has records of no other run.");
  command
      .Option("--format", &options->format,
              "text; or json: numbers of cells and prompts, and each "
              "shard's records and estimated time.")
      .OneOf({kText, kJson})
      .ShowDefault();
  command.Flag("--resolved", &options->resolved,
               "Print the file with presets and settings put in instead.");
  command.OnCall([options] { return Check(*options); });
}

}  // namespace banyan
