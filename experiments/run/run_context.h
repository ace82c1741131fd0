// Where and how an experiment runs: the context of its records.
#ifndef BANYAN_EXPERIMENTS_RUN_RUN_CONTEXT_H_
#define BANYAN_EXPERIMENTS_RUN_RUN_CONTEXT_H_

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/device/ranks/communicator.h"
#include "core/ops/backend.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/workload.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/shard.h"

namespace banyan {

// The processor, the device and how it is used, the load just now, and the
// ranks, if there are any.
records::Machine DescribeMachine(const Backend& backend,
                                 const Communicator* ranks = nullptr);

// Measures the device's bandwidth on the way, for some 50 milliseconds, where
// it knows how.
absl::StatusOr<records::Context> DescribeRun(
    const Experiment& experiment, const Workload& workload,
    const PreparedRun& run, const Shard& shard, Backend& backend,
    const Clock& clock, const Communicator* ranks = nullptr);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_RUN_CONTEXT_H_
