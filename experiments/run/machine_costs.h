// What passes and drafted levels cost on this machine, for an experiment that
// says `measured` (experiments/plan/measured.h): measured before a run, written
// into its records, and taken from there when it goes on.
#ifndef BANYAN_EXPERIMENTS_RUN_MACHINE_COSTS_H_
#define BANYAN_EXPERIMENTS_RUN_MACHINE_COSTS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/device/ranks/communicator.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/measured.h"
#include "experiments/plan/workload.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/run_file.h"
#include "experiments/tools/pass_timing.h"

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

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_MACHINE_COSTS_H_
