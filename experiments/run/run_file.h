// The record file of a run, new or continued, and the context that it begins
// with.
#ifndef BANYAN_EXPERIMENTS_RUN_RUN_FILE_H_
#define BANYAN_EXPERIMENTS_RUN_RUN_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/common.h"
#include "core/device/ranks/communicator.h"
#include "core/ops/backend.h"
#include "experiments/plan/experiment.h"
#include "experiments/plan/workload.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/run/prepared_run.h"
#include "experiments/run/shard.h"

namespace banyan {

// How this program was built; written anew when the sources' revision changes.

// A commit, with "-dirty" after it if the sources differ; or "unknown" outside
// a repository.
extern const char* const kBuildRevision;
extern const char* const kBuildCompiler;
extern const char* const kBuildFlags;
extern const char* const kBuildType;

// Where and how an experiment runs: the context of its records.

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

// The record file of a run: new, or gone on with.

// A record file of a shard: DIR/records-0-of-1.banyan. A shard that went on on
// other machines has a file for each: DIR/records-0-of-1_2.banyan.
std::string RecordPath(const std::string& directory, const Shard& shard,
                       int number = 1);

// What a run has before it begins: a new file, or one to go on with.
struct RunFile {
  std::string path;
  std::unique_ptr<RecordWriter> writer;  // null on all ranks but rank 0
  std::vector<records::PromptRecord> done;
  std::int64_t torn_bytes = 0;  // cut from its end

  // What the shard's files of other machines hold, which nobody else may write
  // meanwhile.
  std::vector<records::PromptRecord> elsewhere;
  std::vector<std::unique_ptr<RecordWriter>> held;
};

// Where a shard goes on that was begun on an unlike machine: by another build,
// processor, device, instruction set or number of threads.
enum class Onto { kSame, kNew };

// Fails if the directory has records of another experiment, workload, cut or
// number of shards, or made with other files than the run would read: a report
// would refuse them when everything is decoded.
absl::Status CheckRunFolder(const std::string& directory,
                            const records::Context& context);

// Makes the directory and the file, or opens the shard's file that was begun on
// such a machine and build. Fails as CheckRunFolder; if the shard's file is
// older than the list of files that were read; and, unless `onto` is kNew, if
// the shard has files of unlike machines only.
absl::StatusOr<RunFile> OpenRunFile(const std::string& directory,
                                    const records::Context& context,
                                    Onto onto = Onto::kSame);

// Copies the records of rank 0's file, and of other machines' files, to every
// rank.
absl::Status ShareRecords(RunFile& file, Communicator& ranks);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_RUN_FILE_H_
