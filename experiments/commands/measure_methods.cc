// What the drafters of an experiment or a method cost, and how often their
// tokens are accepted.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "configs/loader/yaml.h"
#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/params.h"
#include "core/terminal/columns.h"
#include "experiments/commands/measure.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/commands/shared/open_experiment.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/method_spec.h"
#include "experiments/plan/params_edit.h"
#include "experiments/plan/read_experiment.h"
#include "experiments/plan/resolve.h"
#include "experiments/plan/workload.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/report/table.h"
#include "experiments/run/drafter_costs.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/progress.h"
#include "experiments/run/run_file.h"

namespace banyan {
namespace {

Params::Entry Entry(const std::string& key, Params value) {
  return {key, value.origin(), std::move(value)};
}

// A method as an experiment of its own, for the model and the prompts that the
// command line names.
absl::StatusOr<Params> AsExperiment(const MeasureOptions& options,
                                    const Params& method) {
  if (options.model.spec.directory.empty() || options.workload.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        options.paths.front(),
        " is a method, not an experiment: expected --model and --workload"));
  Params alone = method;
  std::vector<Params::Entry> root = {
      Entry("question", Params::Scalar("What do its drafters cost?")),
      Entry("target", Params::Map({Entry("directory", Params::Scalar(""))})),
      Entry("workload",
            Params::Map({Entry("file", Params::Scalar("")),
                         Entry("prompts",
                               Params::Scalar(absl::StrCat(kFewPrompts)))}))};
  // An experiment's sampling and chats hold for all of its cells.
  if (const Params* sampling = method.Find("sampling")) {
    root.push_back(Entry("sampling", *sampling));
    alone = Without(alone, "sampling");
  }
  alone = Without(alone, "chat_template");
  root.push_back(Entry(
      "methods",
      Params::Map(
          {Entry(std::filesystem::path(options.paths.front()).stem().string(),
                 std::move(alone))})));
  return Params::Map(std::move(root), method.origin());
}

// What the command line says in the place of the file.
absl::StatusOr<Settings> SettingsOf(const MeasureOptions& options) {
  Settings settings;
  for (const std::string& text : options.settings) {
    BANYAN_ASSIGN_OR_RETURN(auto setting, ReadSetting(text));
    settings.push_back(std::move(setting));
  }
  const auto put = [&](const std::string& path, const std::string& value) {
    if (!value.empty()) settings.emplace_back(path, Params::Scalar(value));
  };
  put("target.directory", options.model.spec.directory);
  put("target.memory", options.model.spec.memory);
  if (options.model.spec.weights != ModelSpec().weights)
    put("target.weights", options.model.spec.weights);
  put("workload.file", options.workload);
  put("sampling.temperature", options.temperature);
  if (options.prompts.has_value())
    put("workload.prompts", absl::StrCat(*options.prompts));
  if (options.max_new_tokens.has_value())
    put("limits.max_new_tokens", absl::StrCat(*options.max_new_tokens));
  if (!options.seed.empty())
    settings.emplace_back("seeds",
                          Params::List({Params::Scalar(options.seed)}));
  if (options.chat.has_value())
    put("workload.chat", options.chat->empty() ? kOwnTemplate : *options.chat);
  return settings;
}

std::string Shares(const std::vector<double>& shares) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < shares.size() && i < kMost; ++i)
    absl::StrAppend(&text, i == 0 ? "" : " ",
                    absl::StrFormat("%.3f", shares[i]));
  return shares.size() > kMost ? text + " ..." : text;
}

std::string TemperatureText(const CostSetting& setting) {
  return setting.temperature.has_value() ? absl::StrCat(*setting.temperature)
                                         : "any";
}

// In passes of one token; "-" where that was not timed.
std::string OverOne(double ms, const PassCosts& passes) {
  const auto one = passes.ms.find(1);
  return one == passes.ms.end() ? "-"
                                : absl::StrFormat("%.3f", ms / one->second);
}

Table PassTable(const Costs& costs) {
  Table table = {.header = {"target", "weights", "context", "tokens", "ms",
                            "of one token"},
                 .text_columns = 2};
  Table::Section& section = table.sections.emplace_back();
  for (const PassCosts& passes : costs.passes)
    for (const auto& [tokens, ms] : passes.ms)
      section.rows.push_back(
          {Visible(passes.setting.target), passes.setting.weights,
           absl::StrCat(passes.context), absl::StrCat(tokens),
           absl::StrFormat("%.3f", ms), OverOne(ms, passes)});
  return table;
}

Table LevelTable(const Costs& costs) {
  Table table = {.header = {"drafter", "draws", "target", "temperature",
                            "ms per level", "passes of one token"},
                 .text_columns = 3};
  Table::Section& section = table.sections.emplace_back();
  for (const LevelCosts& level : costs.levels) {
    const PassCosts* passes =
        BestPasses(costs, {.target = level.setting.target,
                           .weights = level.setting.weights,
                           .memory = level.setting.memory});
    section.rows.push_back(
        {Visible(level.drafter), level.draws, Visible(level.setting.target),
         TemperatureText(level.setting), absl::StrFormat("%.4f", level.ms),
         OverOne(level.ms, *passes)});
  }
  return table;
}

Table AcceptanceTableOf(const Costs& costs) {
  Table table = {.header = {"drafter", "draws", "target", "by depth", "by rank",
                            "temperature", "rounds"},
                 .text_columns = 5};
  Table::Section& section = table.sections.emplace_back();
  for (const AcceptanceTable& own : costs.acceptance) {
    const bool alone = own.drafters.size() == 1;
    std::vector<std::string> labels;
    for (const CountedDrafter& drafter : own.drafters)
      labels.push_back(Visible(drafter.label));
    section.rows.push_back(
        {absl::StrJoin(labels, " + "),
         alone ? own.drafters.front().draws : "merged",
         Visible(own.setting.target), alone ? Shares(own.ByDepth()) : "",
         alone ? Shares(own.ByRank()) : "", TemperatureText(own.setting),
         absl::StrCat(own.rounds)});
  }
  table.notes.emplace_back(
      "By depth: the acceptance of the first draw, given those above it. By "
      "rank: the probability that the draw of each rank is the accepted one.");
  return table;
}

void Print(const Costs& costs, const records::Machine& machine) {
  if (IsOverloaded(machine))
    std::cout << absl::StreamFormat(
        "BUSY: the load was %.1f on %d cores; other programs slow passes and "
        "levels\n\n",
        machine.load(), machine.cores());
  std::cout << ToText(PassTable(costs)) << "\n"
            << ToText(LevelTable(costs)) << "\n"
            << ToText(AcceptanceTableOf(costs));
}

std::string SourceOf(const MeasureOptions& options,
                     const Experiment& experiment, std::size_t prompts) {
  std::string source = absl::StrCat(
      "banyan measure ", options.paths.front(), ", ",
      Counted(static_cast<std::int64_t>(prompts), "prompt"), " of ",
      std::filesystem::path(experiment.workload.file)
          .lexically_normal()
          .string());
  if (!experiment.workload.chat.empty()) source += " as chats";
  absl::StrAppend(&source, ", at most ",
                  Counted(experiment.cells.front().max_new_tokens, "token"),
                  " each");
  for (const std::string& setting : options.settings)
    absl::StrAppend(&source, ", ", setting);
  return source;
}

}  // namespace

absl::Status MeasureMethods(const MeasureOptions& options) {
  BANYAN_ASSIGN_OR_RETURN(Params file, LoadYamlFile(options.paths.front()));
  if (file.Find("methods") == nullptr && file.Find("base") == nullptr) {
    BANYAN_ASSIGN_OR_RETURN(file, AsExperiment(options, file));
  }
  BANYAN_ASSIGN_OR_RETURN(const Settings settings, SettingsOf(options));
  BANYAN_ASSIGN_OR_RETURN(const Experiment experiment,
                          ReadExperiment(file, settings));
  BANYAN_ASSIGN_OR_RETURN(const Workload workload,
                          ReadWorkload(experiment.workload.file));
  BANYAN_ASSIGN_OR_RETURN(ModelShelf shelf, OpenShelf(options.model));
  const auto clock = std::make_shared<SteadyClock>();
  const records::Machine machine = DescribeMachine(shelf.backend());
  StepProgress progress("counting accepted tokens", *clock);
  BANYAN_ASSIGN_OR_RETURN(
      Costs costs, MeasureDrafters({.file = options.paths.front(),
                                    .experiment = experiment,
                                    .workload = workload,
                                    .count = options.count,
                                    .timing = options.timing,
                                    .shelf = shelf,
                                    .clock = clock,
                                    .measuring = MeasuringProgress(*clock),
                                    .counting = [&](int done, int all) {
                                      progress.Show(done, all);
                                    }}));
  Print(costs, machine);
  if (options.out.empty()) return absl::OkStatus();
  BANYAN_ASSIGN_OR_RETURN(const std::vector<int> chosen,
                          ChoosePrompts(experiment.workload, workload));
  return WriteCosts(std::move(costs), machine,
                    SourceOf(options, experiment, chosen.size()), options.out);
}

}  // namespace banyan
