// How long an experiment will take, from costs that were measured on this
// machine, or else from the sizes of its models and what the device can do: no
// weight is read.
#ifndef BANYAN_EXPERIMENTS_RUN_ESTIMATE_H_
#define BANYAN_EXPERIMENTS_RUN_ESTIMATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ops/backend.h"
#include "experiments/plan/costs.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_run.h"

namespace banyan {

// Without costs a pass takes as long as its weights take to be read or its
// products to be made, whichever is longer, and a round the passes of its
// levels and one of the target. How many tokens a round gives is not known
// beforehand: `least` seconds if every draft were accepted, `most` if none.
// Heads and tables are not counted, nor what surrounds passes.
struct RunEstimate {
  double least_s = 0;
  double most_s = 0;
  double longest_s = 0;  // the longest that a record, or a batch of them, takes
};

// One for each of `shards`. Of `costs` count the tables of this machine. Takes
// some tenths of a second: the device's limits are measured. Unimplemented
// where it does not know them.
absl::StatusOr<std::vector<RunEstimate>> EstimateShards(
    const PreparedRun& run, int shards, records::Cut cut, const Costs& costs,
    Backend& backend, const Clock& clock);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_ESTIMATE_H_
