// Runner: every cell on every prompt, interleaved, into a record file.
//
// Prompts come in the order of the workload, one by one or, where cells decode
// several at a time, in batches; for each prompt or batch, the cells in an
// order that the experiment and its first prompt fix. A prompt's tokens depend
// on neither: chance is keyed by cell seed, prompt, round and node.
#ifndef BANYAN_EXPERIMENTS_RUN_RUNNER_H_
#define BANYAN_EXPERIMENTS_RUN_RUNNER_H_

#include <functional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "experiments/records/record.pb.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/run_file.h"
#include "experiments/run/shard.h"

namespace banyan {

struct RunTask {
  PreparedRun& run;
  std::string experiment_hash;
  Shard shard;
  RunFile& file;
  // Asked before each record or batch: whether the run ends here. None: never.
  std::function<bool()> stop = nullptr;
  // Called before each cell that warms up. None: nobody is told.
  std::function<void(int done, int all)> warming = nullptr;
};

// Called after every record, with how many of how many are there.
using RunSink = absl::FunctionRef<void(const records::PromptRecord& record,
                                       int done, int all)>;

// Decodes the shard's records that are in none of its files yet, appending
// them. A baseline is decoded again if only another machine's file has its
// record and a cell that is held against it is decoded here. Cells whose
// drafters carry state from prompt to prompt take it over from the records that
// are there. Before the first record the first cell of each setting that has
// records to come decodes a few tokens to warm up. Cells that carry state and
// cells that are opened for a turn (PreparedCell::open) do not. Fails as
// decoding and the file do; Cancelled if told to stop with records
// missing. What was appended stays.
absl::Status RunCells(const RunTask& task, RunSink sink);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_RUNNER_H_
