// What passes and drafted levels cost on this machine, for an experiment that
// says `measured` (experiments/plan/measured.h): measured before a run, written
// into its records, and taken from there when it goes on.
//
// The cost of a drafted level is also measured alone.
#ifndef BANYAN_EXPERIMENTS_RUN_MACHINE_COSTS_H_
#define BANYAN_EXPERIMENTS_RUN_MACHINE_COSTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/device/ranks/communicator.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/measured.h"
#include "experiments/plan/workload.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/run_file.h"
#include "experiments/timing/pass_timing.h"
#include "tree/optimize/cost_curve.h"

namespace banyan {

// What is measured, and with what.
struct CostTask {
  const CostPlan& plan;
  const WorkloadSpec& spec;  // which chooses prompts of the workload
  const Workload& workload;
  ModelShelf& shelf;
  std::shared_ptr<const Clock> clock;
  // Models without weights: nothing is timed, every pass costs 1 ms and every
  // level 0.
  bool outline = false;
  // Sizes, contexts and rounds of passes; none: up to the plan's rows.
  std::optional<TimingOptions> timing = std::nullopt;
  // Is told, before each step, how many are done, if it is not null.
  std::function<void(int done, int all)> progress = nullptr;
  Communicator* ranks = nullptr;  // share the targets: the costs are rank 0's
};

// Times passes of the plan's targets, by the first of the contexts, and levels
// of its probes. Fails as PrepareRun and TimePasses.
absl::StatusOr<Costs> MeasureCosts(const CostTask& task);

records::MachineCosts ToRecord(const CostPlan& plan, const Costs& costs);

// Returns rank 0's costs. Only rank 0 reads the run's folder.
absl::StatusOr<std::optional<Costs>> CostsOfRankZero(
    const std::optional<Costs>& mine, const CostPlan& plan,
    Communicator& ranks);

// Those of the experiment's record files in the directory, of `own` first; none
// if none of them has costs. Fails if they are of another machine, device or
// number of threads, unless `onto` is kNew, or lack something of `plan`.
absl::StatusOr<std::optional<Costs>> RecordedCosts(
    const std::string& directory, const std::string& own,
    const Experiment& experiment, const CostPlan& plan,
    const records::Machine& machine, Onto onto);

// Measures how long a drafted level takes, beside the target's pass, for tables
// of costs and for what is tried before a run.

// Decodes the first `count` prompts, or a batch if that is more, for a few
// tokens, and returns the records of the second time: the first one warms up.
// Fails as decoding does.
absl::StatusOr<std::vector<records::PromptRecord>> DecodeWarm(
    PreparedCell& cell, const std::vector<PreparedPrompt>& prompts,
    std::size_t count);

// The median over rounds of the milliseconds of a level, as CostOfLevel
// divides them; 0 if nothing was drafted. `passes` has the target's passes in
// milliseconds, which are taken off the rounds that a device ran alone.
double LevelMs(const std::vector<records::PromptRecord>& records,
               const CostCurve& passes);

// The largest target whose levels are tried: opening it takes no time, and its
// passes are short enough to be worth less than drafting. Targets of more bytes
// are bound by memory, where a smaller drafter costs less.
inline constexpr std::uint64_t kMostTriedBytes = std::uint64_t{64} << 20;

struct LevelCost {
  std::string cell;
  double plain_passes = 0;  // that a drafted level costs: from 1 on none pays
};

// Tries all cells that draft, the first of each setting, on the first prompt (a
// batch of them where a cell decodes several), with the weights that `run` was
// prepared with. `progress` is called before each cell that is decoded. Fails
// as decoding does.
absl::StatusOr<std::vector<LevelCost>> TryLevels(
    PreparedRun& run, absl::FunctionRef<void(int done, int all)> progress);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_MACHINE_COSTS_H_
