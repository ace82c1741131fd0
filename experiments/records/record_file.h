// Record files: a context and then prompt records, appended one by one.
//
//   8 bytes   "BANYANR1"
//   entries:  u32 length of the payload, u32 CRC-32 of these four bytes,
//             u32 CRC-32 of the payload, payload (little-endian)
//
// The first entry is a Context, all others PromptRecords. Every entry is handed
// to the system before the next is begun, so that a process that is killed
// leaves whole entries and at most one torn tail. The length has a checksum of
// its own: a damaged one would pass for a torn tail, and whole entries with it.
// The records of a batch (prompts decoded together) follow each other; those of
// one that is not all there when the file ends are part of the torn tail.
#ifndef BANYAN_EXPERIMENTS_RECORDS_RECORD_FILE_H_
#define BANYAN_EXPERIMENTS_RECORDS_RECORD_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "experiments/records/record.pb.h"

namespace banyan {

struct RecordFile {
  std::string path;
  records::Context context;
  std::vector<records::PromptRecord> prompts;
  // Bytes of whole entries, and what follows them: an entry, or a batch of
  // entries, that was being written when the process ended.
  std::int64_t whole_bytes = 0;
  std::int64_t torn_bytes = 0;
};

// Reads a file. An incomplete last entry is a torn tail, not an error; a file
// that does not begin as a record file, whose first entry is no context, or in
// which a complete entry does not match its checksum, its message or what
// CheckRecord() asks, or a record is there twice, is refused, naming the byte.
// A file that ends before its context does has nothing to give: DataLoss, and
// it may be removed.
absl::StatusOr<RecordFile> ReadRecordFile(const std::string& path);

// Appends to one file. Not safe for concurrent use. Another writer of the same
// file, in this process or another, is kept out by a lock.
class RecordWriter {
 public:
  // A new file, which must not exist (AlreadyExists), with its context. If that
  // cannot be written, no file is left.
  static absl::StatusOr<std::unique_ptr<RecordWriter>> Create(
      const std::string& path, const records::Context& context);
  // The same in the place of a file that ended before its context. Fails if
  // another writer has it, or if there is more in it by now.
  static absl::StatusOr<std::unique_ptr<RecordWriter>> Replace(
      const std::string& path, const records::Context& context);
  // Goes on with a file after its last whole entry, and cuts what follows.
  // Fails if another writer has it (FailedPrecondition), or if it is no longer
  // as long as it was read.
  static absl::StatusOr<std::unique_ptr<RecordWriter>> Resume(
      const RecordFile& file);
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  ~RecordWriter();

  // Writes one entry. After an error (a full disk), which names the file and
  // the reason, what was written before is whole and nothing more can be
  // appended.
  absl::Status Append(const records::PromptRecord& record);

 private:
  RecordWriter(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}

  absl::Status Lock();
  // Writes after the last whole entry, or leaves nothing and fails for good.
  absl::Status Write(absl::string_view bytes);

  std::string path_;
  int descriptor_;
  std::int64_t end_ = 0;  // of the last whole entry
  absl::Status failed_;
};

// Whether a record agrees with itself. Checksums find damage; this finds a
// record that some program wrote wrongly, before a metric counts it.

// The most parts that an experiment is cut into: what scripts/slurm takes.
// Reports name those that are missing.
inline constexpr std::uint32_t kMostShards = 4'000'001;

// OK, or what is wrong: every cell has a name of its own and a baseline that is
// a cell without trunks, and there are no more than kMostShards shards.
absl::Status CheckContext(const records::Context& context);

// OK, or what is wrong. Requires a checked context. What holds of a record:
//   1. Its cell is one of the context's.
//   2. Every round's tree stands parents first, its lists name nodes and trunks
//      that exist, and a kept draw points to a child with its token.
//   3. The path leads down from the root, and what the rounds emitted is the
//      record's tokens: there is one counter of tokens.
//   4. Log-probabilities and gaps are given for all tokens or for none, target
//      probabilities for all nodes of a round or for none.
//   5. No time is negative; drafting has one for every trunk.
//   6. What was learnt is of every trunk or of none, and stores are of trunks.
//   7. Stop rules and kinds of draws are of those that record.proto names.
absl::Status CheckRecord(const records::PromptRecord& record,
                         const records::Context& context);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RECORDS_RECORD_FILE_H_
