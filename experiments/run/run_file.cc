#include "experiments/run/run_file.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "experiments/records/machine.h"
#include "experiments/records/read_files.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/records/record_set.h"

namespace banyan {
namespace {

// Shards of one run have these in common.
std::string ExperimentDifference(const records::Context& found,
                                 const records::Context& wanted) {
  if (found.experiment_hash() != wanted.experiment_hash())
    return absl::StrCat("another experiment (", found.experiment_hash(),
                        ", not ", wanted.experiment_hash(), ")");
  if (found.workload().hash() != wanted.workload().hash())
    return absl::StrCat("another workload (", found.workload().hash(), ", not ",
                        wanted.workload().hash(), ")");
  // Shards that begin at once measure once each.
  if (!SameCosts(found, wanted))
    return "a run with other measured costs, which choose the cells (begin the "
           "shards of a run when the first has written its record file)";
  return "";
}

std::string FileDifference(const records::Context& found,
                           const records::Context& wanted) {
  const std::string file = FirstDifferingFile(found, wanted);
  return file.empty() ? "" : absl::StrCat("a run with another ", file);
}

// What differs between a file that is there and the run that wants it.
std::string Difference(const records::Context& found,
                       const records::Context& wanted) {
  if (std::string other = ExperimentDifference(found, wanted); !other.empty())
    return other;
  if (found.shard() != wanted.shard() || found.shards() != wanted.shards())
    return absl::StrCat("shard ", found.shard(), " of ", found.shards());
  if (DeviceOf(found.machine()) != DeviceOf(wanted.machine()))
    return absl::StrCat("a run on the device ", DeviceOf(found.machine()),
                        ", not ", DeviceOf(wanted.machine()));
  if (found.machine().instruction_set() != wanted.machine().instruction_set())
    return absl::StrCat("a run with ", found.machine().instruction_set(),
                        ", not ", wanted.machine().instruction_set());
  const auto build = [](const records::Context& context) {
    return absl::StrCat(context.build().revision(), " (",
                        context.build().type(), ", ", context.build().flags(),
                        ")");
  };
  if (build(found) != build(wanted))
    return absl::StrCat("a run of revision ", build(found), ", not ",
                        build(wanted));
  const auto machine = [](const records::Context& context) {
    return absl::StrCat(ProcessorOf(context.machine()), " with ",
                        context.machine().threads(), " threads");
  };
  if (machine(found) != machine(wanted))
    return absl::StrCat("a run on ", machine(found), ", not ", machine(wanted));
  if (found.cells_size() != wanted.cells_size())
    return absl::StrCat("a run of ", found.cells_size(), " cells, not ",
                        wanted.cells_size());
  if (std::string file = FileDifference(found, wanted); !file.empty())
    return file;
  if (!NamesFiles(found)) return "a run that does not name the files it read";
  return "";
}

// Returns why a report would refuse the file of another shard beside the run's.
std::string ShardDifference(const records::Context& found,
                            const records::Context& wanted) {
  if (std::string other = ExperimentDifference(found, wanted); !other.empty())
    return other;
  if (found.shards() != wanted.shards())
    return absl::StrCat("shard ", found.shard(), " of ", found.shards(),
                        ", not of ", wanted.shards());
  if (found.cells_size() != wanted.cells_size())
    return absl::StrCat("a run of ", found.cells_size(), " cells, not ",
                        wanted.cells_size());
  return FileDifference(found, wanted);
}

// Fails if the folder has records of another run: a report would refuse them
// when everything is decoded.
absl::Status CheckOtherShards(const std::string& directory,
                              const std::string& own,
                              const records::Context& context) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end;
       !error && it != end; it.increment(error)) {
    const std::string path = it->path().string();
    if (it->path().extension() != kRecordEnding || path == own) continue;
    const absl::StatusOr<RecordFile> other = ReadRecordFile(path);
    if (!other.ok()) continue;  // one that another process begins, or no record
    const std::string difference = ShardDifference(other->context, context);
    if (!difference.empty())
      return absl::FailedPreconditionError(absl::StrCat(
          path, " holds ", difference, ": give another --out, or remove it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shard> ReadShard(const std::string& text) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  Shard shard;
  if (!absl::SimpleAtoi(parts.first, &shard.number) ||
      !absl::SimpleAtoi(parts.second, &shard.count) || shard.count < 1 ||
      shard.number < 0 || shard.number >= shard.count)
    return absl::InvalidArgumentError(absl::StrCat(
        "--shard: expected I/N with I from 0 to N - 1, found '", text, "'"));
  return shard;
}

std::string RecordPath(const std::string& directory, const Shard& shard) {
  return (std::filesystem::path(directory) /
          absl::StrCat("records-", shard.number, "-of-", shard.count,
                       ".banyan"))
      .string();
}

absl::StatusOr<RunFile> OpenRunFile(const std::string& directory,
                                    const records::Context& context) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return absl::InvalidArgumentError(
        absl::StrCat("--out ", directory, ": ", error.message()));
  const std::string path = RecordPath(
      directory,
      {static_cast<int>(context.shard()), static_cast<int>(context.shards())});
  BANYAN_RETURN_IF_ERROR(CheckOtherShards(directory, path, context));
  RunFile file;
  if (!std::filesystem::exists(path, error)) {
    BANYAN_ASSIGN_OR_RETURN(file.writer, RecordWriter::Create(path, context));
    return file;
  }
  absl::StatusOr<RecordFile> read = ReadRecordFile(path);
  if (read.status().code() == absl::StatusCode::kDataLoss) {
    // Killed before its context was whole: there is nothing in it.
    BANYAN_ASSIGN_OR_RETURN(file.writer, RecordWriter::Replace(path, context));
    return file;
  }
  if (!read.ok()) return read.status();
  const RecordFile found = *std::move(read);
  const std::string difference = Difference(found.context, context);
  if (!difference.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        path, " holds ", difference, ": give another --out, or remove it"));
  file.torn_bytes = found.torn_bytes;
  BANYAN_ASSIGN_OR_RETURN(file.writer, RecordWriter::Resume(found));
  file.done = found.prompts;
  return file;
}

}  // namespace banyan
