// The record file of a run: new, or gone on with.
#ifndef BANYAN_EXPERIMENTS_RUN_RUN_FILE_H_
#define BANYAN_EXPERIMENTS_RUN_RUN_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"

namespace banyan {

struct Shard {
  int number = 0;  // from 0
  int count = 1;
};

// "I/N", from the command line.
absl::StatusOr<Shard> ReadShard(const std::string& text);

// The record file of a shard: DIR/records-0-of-1.banyan.
std::string RecordPath(const std::string& directory, const Shard& shard);

// What a run has before it begins: a new file, or one to go on with.
struct RunFile {
  std::unique_ptr<RecordWriter> writer;
  std::vector<records::PromptRecord> done;
  std::int64_t torn_bytes = 0;  // cut from its end
};

// Makes the directory and the file, or opens the one that is there. Fails if
// that is of another experiment, workload, shard, build, machine, device,
// number of threads, if any file that its cells read has changed, or if it is
// older than the list of those files.
absl::StatusOr<RunFile> OpenRunFile(const std::string& directory,
                                    const records::Context& context);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_RUN_FILE_H_
