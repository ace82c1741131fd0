// The costs of an experiment's targets and drafters: what `banyan measure`
// writes for a file of methods.
#ifndef BANYAN_EXPERIMENTS_RUN_MEASURE_DRAFTERS_H_
#define BANYAN_EXPERIMENTS_RUN_MEASURE_DRAFTERS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "experiments/models/model_shelf.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/measured.h"
#include "experiments/plan/workload.h"
#include "experiments/tools/pass_timing.h"

namespace banyan {

struct DrafterTask {
  std::string file;  // that the experiment was read from, for messages
  const Experiment& experiment;
  const Workload& workload;
  CountOptions count;
  TimingOptions timing;  // of passes, at the first context
  ModelShelf& shelf;
  std::shared_ptr<const Clock> clock;
  // Are told how many steps of measuring are done, and of counting.
  std::function<void(int done, int all)> measuring;
  std::function<void(int done, int all)> counting;
};

// Returns the passes of the experiment's targets, the levels of its drafters,
// and their acceptance on its prompts, without where they come from: of each
// drafter alone, by head where it has heads, and of drafters that draft
// together. Of a chat it counts the first turn. Fails as PrepareRun and
// decoding do, and if the experiment has no lossless method that drafts.
absl::StatusOr<Costs> MeasureDrafters(const DrafterTask& task);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_MEASURE_DRAFTERS_H_
