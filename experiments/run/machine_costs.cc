#include "experiments/run/machine_costs.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/base/weight_format.h"
#include "core/device/ranks/communicator.h"
#include "core/model/model.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/measured.h"
#include "experiments/plan/one_drafter.h"
#include "experiments/plan/workload.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/records/record_set.h"
#include "experiments/run/level_costs.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_prompts.h"
#include "experiments/run/prepared_run.h"
#include "experiments/tools/pass_timing.h"
#include "tree/draft_tree.h"
#include "tree/optimize/cost_curve.h"

namespace banyan {
namespace {

constexpr int kContext = 128;         // that timed passes follow, if it fits
constexpr double kEnoughMs = 20'000;  // a target then takes about a minute
constexpr std::size_t kProbePrompts = 4;

// Close together where passes are cheap and differ, up to `rows`.
std::vector<int> Sizes(int rows) {
  std::vector<int> sizes;
  for (int power = 1; power < rows; power *= 2) {
    sizes.push_back(power);
    if (power >= 2 && power + power / 2 < rows)
      sizes.push_back(power + power / 2);
  }
  sizes.push_back(rows);
  return sizes;
}

absl::StatusOr<PassCosts> CostsOfPasses(const Model& model,
                                        const CostTask& task) {
  PassCosts costs;
  costs.setting.weights = std::string(Name(model.facts().format));
  TimingOptions timing;
  if (task.timing.has_value()) {
    timing = *task.timing;
    timing.contexts.resize(1);
    // The probes' passes too.
    if (std::find(timing.batches.begin(), timing.batches.end(),
                  task.plan.rows) == timing.batches.end())
      timing.batches.push_back(task.plan.rows);
  } else {
    const int rows = std::min(task.plan.rows, model.context_limit());
    timing = {.batches = Sizes(rows),
              .contexts = {std::min(model.context_limit() - rows, kContext)},
              .enough_ms = kEnoughMs};
  }
  timing.read_limits = false;
  costs.context = timing.contexts.front();
  if (task.outline) {
    for (const int size : timing.batches) costs.ms[size] = 1;
    return costs;
  }
  if (task.ranks != nullptr)
    timing.agree = [&task](double ms) { return Agree(*task.ranks, ms); };
  BANYAN_ASSIGN_OR_RETURN(
      const std::vector<PassTiming> timings,
      TimePasses(model, task.shelf.backend(), timing, *task.clock,
                 [](int /*done*/, int /*all*/) {}));
  for (const PassTiming& pass : timings)
    costs.ms[pass.tokens] = pass.median_ms();
  return costs;
}

absl::StatusOr<Costs> FromRecord(const records::MachineCosts& record,
                                 const CostPlan& plan) {
  Costs costs;
  for (const records::PassCosts& passes : record.passes()) {
    PassCosts& to = costs.passes.emplace_back();
    to.setting.target = passes.target();
    to.setting.weights = passes.weights();
    if (passes.tokens_size() != passes.ms_size())
      return absl::DataLossError(
          "pass costs: token counts and times differ in number");
    for (int i = 0; i < passes.tokens_size(); ++i)
      to.ms[static_cast<int>(passes.tokens(i))] = passes.ms(i);
  }
  for (const records::LevelCost& level : record.levels()) {
    LevelCosts& to = costs.levels.emplace_back();
    to.setting = {.target = level.target(),
                  .temperature = level.temperature(),
                  .batch = static_cast<int>(level.batch())};
    to.draws = level.draws();
    to.drafter = level.drafter();
    to.ms = level.ms();
  }
  if (costs.passes.size() != plan.targets.size() ||
      costs.levels.size() != plan.probes.size())
    return absl::FailedPreconditionError(
        "its costs are for other targets or drafters; remove this file to "
        "measure again");
  return costs;
}

}  // namespace

absl::StatusOr<Costs> MeasureCosts(const CostTask& task) {
  const CostPlan& plan = task.plan;
  int done = 0;
  const auto all = static_cast<int>(plan.targets.size() + plan.probes.size());
  const auto tell = [&] {
    if (task.progress) task.progress(done++, all);
  };
  Costs costs;
  for (const ModelSpec& target : plan.targets) {
    tell();
    // A target of bounded memory leaves the memory to the next.
    ModelShelf own(task.shelf.shared_backend(), task.shelf.warn(),
                   task.shelf.ranks());
    BANYAN_ASSIGN_OR_RETURN(
        const LoadedModel loaded,
        (target.memory.empty() ? task.shelf : own).OpenTarget(target));
    BANYAN_ASSIGN_OR_RETURN(PassCosts passes,
                            CostsOfPasses(*loaded.model, task));
    passes.setting.target = FolderName(target.directory);
    passes.setting.memory = target.memory;
    costs.passes.push_back(std::move(passes));
  }
  Experiment probes = {.workload = task.spec, .cells = plan.probes};
  BANYAN_ASSIGN_OR_RETURN(PreparedRun run, PrepareRun(probes, task.workload,
                                                      task.shelf, task.clock));
  for (std::size_t i = 0; i < run.cells.size(); ++i) {
    PreparedCell& cell = run.cells[i];
    const ExperimentCell& probe = plan.probes[i];
    tell();
    const auto target_number = static_cast<std::size_t>(
        std::find(plan.targets.begin(), plan.targets.end(), probe.target) -
        plan.targets.begin());
    BANYAN_ASSIGN_OR_RETURN(
        const CostCurve passes,
        CostCurve::FromMap("target_ms", costs.passes[target_number].ms));
    LevelCosts& level = costs.levels.emplace_back();
    level.setting = {.target = FolderName(probe.target.directory),
                     .weights = costs.passes[target_number].setting.weights,
                     .memory = probe.target.memory,
                     .temperature = TemperatureOf(probe),
                     .batch = probe.batch};
    level.draws = std::string(
        Name(cell.method.decoder->method().trunks.front().draw_kind));
    level.drafter = probe.method;
    if (task.outline) continue;
    BANYAN_ASSIGN_OR_RETURN(OpenCell open, OpenCell::Of(cell));
    BANYAN_ASSIGN_OR_RETURN(const std::vector<records::PromptRecord> records,
                            DecodeWarm(*open, run.prompts, kProbePrompts));
    level.ms = LevelMs(records, passes);
  }
  if (task.ranks == nullptr) return costs;
  BANYAN_ASSIGN_OR_RETURN(std::optional<Costs> first,
                          CostsOfRankZero(costs, plan, *task.ranks));
  return *std::move(first);
}

records::MachineCosts ToRecord(const CostPlan& plan, const Costs& costs) {
  records::MachineCosts record;
  for (std::size_t i = 0; i < costs.passes.size(); ++i) {
    records::PassCosts& to = *record.add_passes();
    to.set_target(FolderName(plan.targets[i].directory));
    to.set_weights(costs.passes[i].setting.weights);
    for (const auto& [tokens, ms] : costs.passes[i].ms) {
      to.add_tokens(static_cast<std::uint32_t>(tokens));
      to.add_ms(ms);
    }
  }
  for (std::size_t i = 0; i < costs.levels.size(); ++i) {
    const ExperimentCell& probe = plan.probes[i];
    records::LevelCost& to = *record.add_levels();
    to.set_drafter(probe.method);
    to.set_target(FolderName(probe.target.directory));
    to.set_temperature(TemperatureOf(probe));
    to.set_batch(static_cast<std::uint32_t>(probe.batch));
    to.set_draws(costs.levels[i].draws);
    to.set_ms(costs.levels[i].ms);
  }
  return record;
}

absl::StatusOr<std::optional<Costs>> CostsOfRankZero(
    const std::optional<Costs>& mine, const CostPlan& plan,
    Communicator& ranks) {
  const std::string some = "+";  // costs of nothing are an empty message
  BANYAN_ASSIGN_OR_RETURN(
      const std::string text,
      Broadcast(ranks, mine.has_value()
                           ? some + ToRecord(plan, *mine).SerializeAsString()
                           : std::string()));
  if (text.empty()) return std::optional<Costs>();
  records::MachineCosts record;
  if (!record.ParseFromString(text.substr(some.size())))
    return absl::DataLossError("rank 0 sent costs that are none");
  BANYAN_ASSIGN_OR_RETURN(Costs costs, FromRecord(record, plan));
  return std::optional<Costs>(std::move(costs));
}

absl::StatusOr<std::optional<Costs>> RecordedCosts(
    const std::string& directory, const std::string& own,
    const Experiment& experiment, const CostPlan& plan,
    const records::Machine& machine, Onto onto) {
  std::error_code error;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator it(directory, error), end;
       !error && it != end; it.increment(error))
    if (it->path().extension() == kRecordEnding)
      paths.push_back(it->path().string());
  std::sort(paths.begin(), paths.end(),
            [&](const std::string& a, const std::string& b) {
              return std::pair(a != own, a) < std::pair(b != own, b);
            });
  for (const std::string& path : paths) {
    const absl::StatusOr<RecordFile> file = ReadRecordFile(path);
    // Unreadable files and files of other experiments are skipped: opening the
    // run reports them.
    if (!file.ok() || !file->context.has_costs() ||
        file->context.experiment_hash() != experiment.hash)
      continue;
    const std::string found = MachineText(file->context.machine());
    if (onto == Onto::kSame && found != MachineText(machine))
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": its costs were measured on ", found,
                       ", but this machine is ", MachineText(machine),
                       ": give another --out, or remove this file"));
    absl::StatusOr<Costs> costs = FromRecord(file->context.costs(), plan);
    if (!costs.ok())
      return absl::Status(costs.status().code(),
                          absl::StrCat(path, ": ", costs.status().message()));
    return std::optional<Costs>(*std::move(costs));
  }
  return std::optional<Costs>();
}

}  // namespace banyan
