// Runner: every cell on every prompt, interleaved, into a record file.
//
// Prompts come in the order of the workload, one by one or, where cells decode
// several at a time, in batches; for each prompt or batch, the cells in an
// order that the experiment and its first prompt fix. A prompt's tokens depend
// on neither: chance is keyed by cell seed, prompt, round and node.
#ifndef BANYAN_EXPERIMENTS_RUN_RUNNER_H_
#define BANYAN_EXPERIMENTS_RUN_RUNNER_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/run_file.h"

namespace banyan {

// Cells that learn from one prompt for the next cannot be run in shards.
absl::Status CheckShards(const PreparedRun& run, const Shard& shard);

struct RunTask {
  PreparedRun& run;
  std::string experiment_hash;
  Shard shard;
  RunFile& file;
};

// Called after every record, with how many of how many are there.
using RunSink = absl::FunctionRef<void(const records::PromptRecord& record,
                                       int done, int all)>;

// Decodes what is not there yet, appending a record each. Drafters that carry
// state from prompt to prompt take over what the records before it hold. Before
// the first record every cell decodes a few tokens to warm up. Fails as
// decoding and the file do; what was appended stays.
absl::Status RunCells(const RunTask& task, RunSink sink);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_RUNNER_H_
