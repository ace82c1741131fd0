// What drafters cost and how often their tokens are accepted: measured for
// `banyan measure`, and counted in records.
#ifndef BANYAN_EXPERIMENTS_RUN_DRAFTER_COSTS_H_
#define BANYAN_EXPERIMENTS_RUN_DRAFTER_COSTS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "experiments/loading/model_shelf.h"
#include "experiments/plan/costs.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/measured.h"
#include "experiments/plan/workload.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_set.h"
#include "experiments/timing/pass_timing.h"

namespace banyan {

// Counts in records, as tables of costs for later experiments, how often tokens
// of drafters were accepted, and finds the length at which each drafter's chain
// was fastest.

// Counts accepted tokens: a table for each setting and each list of drafters
// that draft together.
class AcceptanceCounter {
 public:
  // Counts the rounds of a record of this cell, unless it is lossy or drafts
  // nothing. Fails if another cell has a drafter of the same name with other
  // options or models.
  absl::Status Add(const records::Cell& cell,
                   const records::PromptRecord& record);

  // The tables of drafters that proposed something.
  std::vector<AcceptanceTable> Tables() const;

 private:
  struct Counted {
    AcceptanceTable table;
    std::vector<std::string> identities;  // of its drafters
    std::string cell;                     // that was counted first
  };

  std::vector<Counted> tables_;
};

// Counts how often the candidates of heads were right: records of a cell whose
// tree draws several tokens at every node along its first path (HeadsSection).
HeadTable CountHeads(const records::Cell& cell,
                     const std::vector<records::PromptRecord>& records);

// Returns the acceptance of all lossless cells, and for each target, drafter
// and temperature the fastest chain, of cells of one length the faster one.
// There are no chains in records of several machines. Fails if there is
// nothing to count.
absl::StatusOr<Costs> CountCosts(const RecordSet& set);

// Where numbers come from that were counted in records: their machine, build
// and date, and the prompts and experiments.
Provenance ProvenanceOf(const RecordSet& set);

// The costs of an experiment's targets and drafters: what `banyan measure`
// writes for a file of methods.
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

#endif  // BANYAN_EXPERIMENTS_RUN_DRAFTER_COSTS_H_
