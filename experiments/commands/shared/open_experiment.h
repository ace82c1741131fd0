// The experiment that `run` and `check` are given: its options, and all there
// is before the first token.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_SHARED_OPEN_EXPERIMENT_H_
#define BANYAN_EXPERIMENTS_COMMANDS_SHARED_OPEN_EXPERIMENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ops/backend.h"
#include "experiments/commands/shared/command_line.h"
#include "experiments/commands/shared/model_options.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/workload.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/run_file.h"
#include "experiments/run/shard.h"

namespace banyan {

struct ExperimentOptions {
  std::string file;
  std::vector<std::string> settings;
  std::string rounds;  // auto, host or device; empty: the file's
  DeviceChoice device;
  RanksOptions ranks;  // of a command that runs on several
  std::string out;     // the run's folder; empty: none
  std::string cut = kCutPrompts;
};

// FILE, --set, --cut and the options of devices.
void AddExperimentOptions(Command& command, ExperimentOptions& options);

struct OpenedExperiment {
  // Of an experiment that says `measured`.
  std::optional<records::MachineCosts> costs;
  Experiment experiment;
  Workload workload;
  std::shared_ptr<Backend> backend;
  RankGroup ranks;
  PreparedRun run;
};

enum class Opening {
  kWhole,
  kOutline,   // models without their weights
  kStandIns,  // and stand-ins for measured costs
};

// `shard` says whose record file has the measured costs, if any has; with kNew
// they may be those of another machine. Fails, with everything that is wrong,
// as an experiment, its workload and its models do.
absl::StatusOr<OpenedExperiment> OpenExperiment(
    const ExperimentOptions& options, const Shard& shard,
    const std::shared_ptr<const Clock>& clock, Opening opening, Onto onto);

// PrepareRun, with progress on standard error.
absl::StatusOr<PreparedRun> PrepareShown(
    const OpenedExperiment& opened, ModelShelf& shelf,
    const std::shared_ptr<const Clock>& clock);

// Shows how far measuring costs has come: a line that is drawn over on a
// terminal, and elsewhere one line in all.
std::function<void(int done, int all)> MeasuringProgress(const Clock& clock);

// Prints what a reader should know to standard error: turns that are left out,
// notes, and the cells that one of `shards` runs whole.
void PrintNotes(const ExperimentOptions& options,
                const OpenedExperiment& opened, int shards);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_SHARED_OPEN_EXPERIMENT_H_
