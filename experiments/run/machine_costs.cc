#include "experiments/run/machine_costs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
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
#include "decode/sequence.h"
#include "experiments/metrics/level_cost.h"
#include "experiments/metrics/median.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/models/loaded_model.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/measured.h"
#include "experiments/plan/one_drafter.h"
#include "experiments/plan/workload.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/records/record_set.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_prompts.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/recording.h"
#include "experiments/tools/pass_timing.h"
#include "tree/draft_tree.h"
#include "tree/optimize/cost_curve.h"

namespace banyan {
namespace {

constexpr int kContext = 128;         // that timed passes follow, if it fits
constexpr double kEnoughMs = 20'000;  // a target then takes about a minute
constexpr int kProbeTokens = 32;
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

absl::StatusOr<PassCosts> CostsOfPasses(const Model& model, ModelShelf& shelf,
                                        int rows, bool outline,
                                        const Clock& clock,
                                        Communicator* ranks) {
  PassCosts costs = {.weights = std::string(Name(model.facts().format))};
  rows = std::min(rows, model.context_limit());
  const std::vector<int> sizes = Sizes(rows);
  if (outline) {
    for (const int size : sizes) costs.ms[size] = 1;
    return costs;
  }
  const int context = std::min(model.context_limit() - rows, kContext);
  TimingOptions options = {.batches = sizes,
                           .contexts = {context},
                           .enough_ms = kEnoughMs,
                           .read_limits = false};
  if (ranks != nullptr)
    options.agree = [ranks](double ms) { return Agree(*ranks, ms); };
  BANYAN_ASSIGN_OR_RETURN(const std::vector<PassTiming> timings,
                          TimePasses(model, shelf.backend(), options, clock,
                                     [](int /*done*/, int /*all*/) {}));
  for (const PassTiming& timing : timings)
    costs.ms[timing.tokens] = timing.median_ms();
  return costs;
}

// A round run entirely on the device has only its total time, so the level
// cost is that time less the pass time.
std::optional<double> LevelMsOf(const records::Round& round,
                                const CostCurve& passes) {
  const int levels = Levels(round);
  if (levels == 0) return std::nullopt;
  if (round.device_ns() > 0) {
    const absl::StatusOr<double> pass = passes.At(PassTokens(round));
    if (!pass.ok()) return std::nullopt;
    const double whole =
        static_cast<double>(round.device_ns() + round.commit_ns()) / 1e6;
    return std::max(0.0, whole - *pass) / levels;
  }
  const std::int64_t draft_ns = std::accumulate(
      round.draft_ns().begin(), round.draft_ns().end(), std::int64_t{0});
  const double around_ns = static_cast<double>(
      round.derive_ns() + round.verify_ns() + round.commit_ns());
  return CostOfLevel(static_cast<double>(draft_ns), around_ns, levels) / 1e6;
}

// Decodes twice, since the first decoding warms up. Returns the median over the
// second one's rounds; 0 for a drafter that drafts nothing on these prompts.
absl::StatusOr<double> TimeLevel(PreparedCell& cell,
                                 const std::vector<PreparedPrompt>& prompts,
                                 const CostCurve& passes) {
  StopRule stop = cell.stop;
  stop.max_new_tokens = std::min(kProbeTokens, stop.max_new_tokens);
  std::vector<Asked> asked;
  for (const PreparedPrompt& prompt : prompts) {
    if (asked.size() ==
        std::max(kProbePrompts, static_cast<std::size_t>(cell.batch)))
      break;
    asked.push_back({&prompt, 0, prompt.number, prompt.tokens});
  }
  BANYAN_RETURN_IF_ERROR(DecodeAsked(cell, asked, stop).status());
  BANYAN_ASSIGN_OR_RETURN(const std::vector<records::PromptRecord> records,
                          DecodeAsked(cell, asked, stop));
  std::vector<double> costs;
  for (const records::PromptRecord& record : records)
    for (const records::Round& round : record.rounds())
      if (const std::optional<double> ms = LevelMsOf(round, passes))
        costs.push_back(*ms);
  return costs.empty() ? 0 : Median(std::move(costs));
}

std::string MachineText(const records::Machine& machine) {
  return absl::StrCat(ProcessorOf(machine), ", ", DeviceOf(machine),
                      InstructionSetText(machine), ", ", machine.threads(),
                      machine.threads() == 1 ? " thread" : " threads");
}

absl::StatusOr<MachineCosts> FromRecord(const records::MachineCosts& record,
                                        const CostPlan& plan) {
  MachineCosts costs;
  for (const records::PassCosts& passes : record.passes()) {
    PassCosts& to = costs.passes.emplace_back();
    to.weights = passes.weights();
    if (passes.tokens_size() != passes.ms_size())
      return absl::DataLossError(
          "pass costs: token counts and times differ in number");
    for (int i = 0; i < passes.tokens_size(); ++i)
      to.ms[static_cast<int>(passes.tokens(i))] = passes.ms(i);
  }
  for (const records::LevelCost& level : record.levels()) {
    LevelMs& to = costs.levels.emplace_back();
    to.draws = level.draws();
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

absl::StatusOr<MachineCosts> MeasureCosts(
    const Experiment& experiment, const Workload& workload, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock, bool outline,
    const std::function<void(const std::string& what)>& progress,
    Communicator* ranks) {
  const auto tell = [&](const std::string& what) {
    if (progress) progress(what);
  };
  BANYAN_ASSIGN_OR_RETURN(const CostPlan plan, PlanCosts(experiment));
  MachineCosts costs;
  for (const ModelSpec& target : plan.targets) {
    tell(absl::StrCat("passes of ", FolderName(target.directory)));
    // A target of bounded memory leaves the memory to the next.
    ModelShelf own(shelf.shared_backend(), shelf.warn(), shelf.ranks());
    BANYAN_ASSIGN_OR_RETURN(
        const LoadedModel loaded,
        (target.memory.empty() ? shelf : own).OpenTarget(target));
    BANYAN_ASSIGN_OR_RETURN(
        PassCosts passes,
        CostsOfPasses(*loaded.model, shelf, plan.rows, outline, *clock, ranks));
    costs.passes.push_back(std::move(passes));
  }
  Experiment probes = {.workload = experiment.workload, .cells = plan.probes};
  BANYAN_ASSIGN_OR_RETURN(PreparedRun run,
                          PrepareRun(probes, workload, shelf, clock));
  for (std::size_t i = 0; i < run.cells.size(); ++i) {
    PreparedCell& cell = run.cells[i];
    const ExperimentCell& probe = plan.probes[i];
    tell(absl::StrCat("drafter ", i + 1, " of ", run.cells.size(), ", ",
                      probe.method));
    const auto target =
        std::find(plan.targets.begin(), plan.targets.end(), probe.target);
    BANYAN_ASSIGN_OR_RETURN(
        const CostCurve passes,
        CostCurve::FromMap(
            "target_ms",
            costs
                .passes[static_cast<std::size_t>(target - plan.targets.begin())]
                .ms));
    LevelMs& level = costs.levels.emplace_back();
    level.draws = std::string(
        Name(cell.method.decoder->method().trunks.front().draw_kind));
    if (outline) continue;
    BANYAN_ASSIGN_OR_RETURN(OpenCell open, OpenCell::Of(cell));
    BANYAN_ASSIGN_OR_RETURN(level.ms, TimeLevel(*open, run.prompts, passes));
  }
  if (ranks == nullptr) return costs;
  BANYAN_ASSIGN_OR_RETURN(std::optional<MachineCosts> first,
                          CostsOfRankZero(costs, plan, *ranks));
  return *std::move(first);
}

records::MachineCosts ToRecord(const CostPlan& plan,
                               const MachineCosts& costs) {
  records::MachineCosts record;
  for (std::size_t i = 0; i < costs.passes.size(); ++i) {
    records::PassCosts& to = *record.add_passes();
    to.set_target(FolderName(plan.targets[i].directory));
    to.set_weights(costs.passes[i].weights);
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

absl::StatusOr<std::optional<MachineCosts>> CostsOfRankZero(
    const std::optional<MachineCosts>& mine, const CostPlan& plan,
    Communicator& ranks) {
  const std::string some = "+";  // costs of nothing are an empty message
  BANYAN_ASSIGN_OR_RETURN(
      const std::string text,
      Broadcast(ranks, mine.has_value()
                           ? some + ToRecord(plan, *mine).SerializeAsString()
                           : std::string()));
  if (text.empty()) return std::optional<MachineCosts>();
  records::MachineCosts record;
  if (!record.ParseFromString(text.substr(some.size())))
    return absl::DataLossError("rank 0 sent costs that are none");
  BANYAN_ASSIGN_OR_RETURN(MachineCosts costs, FromRecord(record, plan));
  return std::optional<MachineCosts>(std::move(costs));
}

absl::StatusOr<std::optional<MachineCosts>> RecordedCosts(
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
    absl::StatusOr<MachineCosts> costs =
        FromRecord(file->context.costs(), plan);
    if (!costs.ok())
      return absl::Status(costs.status().code(),
                          absl::StrCat(path, ": ", costs.status().message()));
    return std::optional<MachineCosts>(*std::move(costs));
  }
  return std::optional<MachineCosts>();
}

}  // namespace banyan
