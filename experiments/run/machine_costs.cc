#include "experiments/run/machine_costs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <system_error>
#include <utility>

#include "core/base/common.h"
#include "core/base/weight_format.h"
#include "core/model/model.h"
#include "decode/sequence.h"
#include "experiments/metrics/round_figures.h"
#include "experiments/plan/opponents.h"
#include "experiments/records/machine.h"
#include "experiments/records/record_file.h"
#include "experiments/records/record_set.h"
#include "experiments/run/recording.h"
#include "tree/draft_tree.h"

namespace banyan {

namespace {

constexpr int kTokens = 32;  // of each prompt
constexpr double kNsPerMs = 1e6;

// None of a round that drafted nothing.
std::optional<double> LevelMs(const records::Round& round,
                              const CostCurve& passes) {
  const int levels = Levels(round);
  if (levels == 0) return std::nullopt;
  if (round.device_ns() > 0) {
    const absl::StatusOr<double> pass = passes.At(PassTokens(round));
    if (!pass.ok()) return std::nullopt;
    const double whole =
        static_cast<double>(round.device_ns() + round.commit_ns()) / kNsPerMs;
    return std::max(0.0, whole - *pass) / levels;
  }
  const std::int64_t draft_ns = std::accumulate(
      round.draft_ns().begin(), round.draft_ns().end(), std::int64_t{0});
  const double around_ns = static_cast<double>(
      round.derive_ns() + round.verify_ns() + round.commit_ns());
  return CostOfLevel(static_cast<double>(draft_ns), around_ns, levels) /
         kNsPerMs;
}

// The median of all rounds, whole.
double RoundMs(const std::vector<records::PromptRecord>& records) {
  std::vector<double> ms;
  for (const records::PromptRecord& record : records)
    for (const records::Round& round : record.rounds())
      ms.push_back(RoundNs(round) / kNsPerMs);
  return ms.empty() ? 0 : Median(std::move(ms));
}

}  // namespace

absl::StatusOr<std::vector<records::PromptRecord>> DecodeWarm(
    PreparedCell& cell, const std::vector<PreparedPrompt>& prompts,
    std::size_t count) {
  StopRule stop = cell.stop;
  stop.max_new_tokens = std::min(kTokens, stop.max_new_tokens);
  count = std::min(prompts.size(),
                   std::max(count, static_cast<std::size_t>(cell.batch)));
  std::vector<Asked> asked;
  for (std::size_t i = 0; i < count; ++i)
    asked.push_back({&prompts[i], 0, prompts[i].number, prompts[i].tokens});
  BANYAN_RETURN_IF_ERROR(DecodeAsked(cell, asked, stop).status());
  return DecodeAsked(cell, asked, stop);
}

double LevelMs(const std::vector<records::PromptRecord>& records,
               const CostCurve& passes) {
  std::vector<double> ms;
  for (const records::PromptRecord& record : records)
    for (const records::Round& round : record.rounds())
      if (const std::optional<double> one = LevelMs(round, passes))
        ms.push_back(*one);
  return ms.empty() ? 0 : Median(std::move(ms));
}

absl::StatusOr<std::vector<LevelCost>> TryLevels(
    PreparedRun& run, absl::FunctionRef<void(int done, int all)> progress) {
  std::vector<LevelCost> costs;
  if (run.prompts.empty()) return costs;
  std::vector<std::size_t> firsts;
  for (std::size_t i = 0; i < run.cells.size(); ++i)
    if (run.cells[i].setting == i) firsts.push_back(i);
  std::map<std::size_t, std::vector<records::PromptRecord>> tried;
  for (const std::size_t i : firsts) {
    progress(static_cast<int>(tried.size()), static_cast<int>(firsts.size()));
    BANYAN_ASSIGN_OR_RETURN(OpenCell open, OpenCell::Of(run.cells[i]));
    BANYAN_ASSIGN_OR_RETURN(tried[i], DecodeWarm(*open, run.prompts, 1));
  }
  for (const std::size_t i : firsts) {
    const records::Cell& cell = run.cells[i].description;
    const double plain_ms = RoundMs(tried[run.cells[cell.baseline()].setting]);
    if (cell.trunks_size() == 0 || plain_ms <= 0) continue;
    constexpr int kWidest = 1 << 20;
    BANYAN_ASSIGN_OR_RETURN(
        const CostCurve passes,
        CostCurve::FromMap("plain rounds",
                           {{1, plain_ms}, {kWidest, plain_ms}}));
    const double level_ms = LevelMs(tried[i], passes);
    if (level_ms > 0) costs.push_back({cell.name(), level_ms / plain_ms});
  }
  return costs;
}

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
