#include "experiments/run/run_file.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/device/ranks/communicator.h"
#include "experiments/records/machine.h"
#include "experiments/records/read_files.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/records/record_set.h"
#include "experiments/run/shard.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/util/delimited_message_util.h"

namespace banyan {
namespace {

// Returns what a file holds instead of a shard of the wanted run.
std::string RunDifference(const records::Context& found,
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
  if (found.shards() != wanted.shards())
    return absl::StrCat("shard ", found.shard(), " of ", found.shards(),
                        ", not of ", wanted.shards());
  if (found.shards() > 1 && found.cut() != wanted.cut())
    return absl::StrCat("a shard cut by ", NameOf(found.cut()), ", not by ",
                        NameOf(wanted.cut()));
  if (found.cells_size() != wanted.cells_size())
    return absl::StrCat("a run of ", found.cells_size(), " cells, not ",
                        wanted.cells_size());
  const std::string file = FirstDifferingFile(found, wanted);
  return file.empty() ? "" : absl::StrCat("a run with another ", file);
}

// Returns why the wanted run cannot go on with a file of its shard.
std::string MachineDifference(const records::Context& found,
                              const records::Context& wanted) {
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
  return "";
}

absl::Status Refusal(
    const std::string& path, const std::string& difference,
    absl::string_view remedy = "give another --out, or remove it") {
  return absl::FailedPreconditionError(
      absl::StrCat(path, " holds ", difference, ": ", remedy));
}

// The files of a shard in a run's directory.
struct ShardFiles {
  std::optional<RecordFile> own;     // with which the run can go on
  std::vector<RecordFile> others;    // of unlike machines
  std::optional<std::string> empty;  // ended before its context
  std::string next;                  // the path of the next
};

absl::StatusOr<ShardFiles> FindShardFiles(const std::string& directory,
                                          const records::Context& context) {
  const Shard shard = {.number = static_cast<int>(context.shard()),
                       .count = static_cast<int>(context.shards())};
  ShardFiles files;
  std::error_code error;
  for (int number = 1;; ++number) {
    files.next = RecordPath(directory, shard, number);
    if (!std::filesystem::exists(files.next, error)) return files;
    absl::StatusOr<RecordFile> read = ReadRecordFile(files.next);
    if (absl::IsDataLoss(read.status())) {
      // Killed before its context was whole: there is nothing in it.
      files.empty = files.next;
      continue;
    }
    if (!read.ok()) return read.status();
    std::string difference = RunDifference(read->context, context);
    if (difference.empty() && read->context.shard() != context.shard())
      difference = absl::StrCat("shard ", read->context.shard(), " of ",
                                read->context.shards());
    if (difference.empty() && !NamesFiles(read->context))
      difference = "a run that does not name the files it read";
    if (!difference.empty()) return Refusal(files.next, difference);
    if (!files.own.has_value() &&
        MachineDifference(read->context, context).empty())
      files.own = *std::move(read);
    else
      files.others.push_back(*std::move(read));
  }
}

}  // namespace

std::string RecordPath(const std::string& directory, const Shard& shard,
                       int number) {
  return (std::filesystem::path(directory) /
          absl::StrCat("records-", shard.number, "-of-", shard.count,
                       number > 1 ? absl::StrCat("_", number) : "",
                       kRecordEnding))
      .string();
}

absl::Status CheckRunFolder(const std::string& directory,
                            const records::Context& context) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end;
       !error && it != end; it.increment(error)) {
    if (it->path().extension() != kRecordEnding) continue;
    const absl::StatusOr<RecordFile> other =
        ReadRecordFile(it->path().string());
    if (!other.ok()) continue;  // one that another process begins, or no record
    const std::string difference = RunDifference(other->context, context);
    if (!difference.empty()) return Refusal(other->path, difference);
  }
  return absl::OkStatus();
}

absl::StatusOr<RunFile> OpenRunFile(const std::string& directory,
                                    const records::Context& context,
                                    Onto onto) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return absl::InvalidArgumentError(
        absl::StrCat("--out ", directory, ": ", error.message()));
  BANYAN_ASSIGN_OR_RETURN(ShardFiles files, FindShardFiles(directory, context));
  BANYAN_RETURN_IF_ERROR(CheckRunFolder(directory, context));
  if (!files.own.has_value() && !files.others.empty() && onto == Onto::kSame)
    return Refusal(
        files.others.front().path,
        MachineDifference(files.others.front().context, context),
        "give --onto new to begin a second file for what is missing, give "
        "another --out, or remove it");
  RunFile file;
  for (RecordFile& other : files.others) {
    BANYAN_ASSIGN_OR_RETURN(file.held.emplace_back(),
                            RecordWriter::Resume(other));
    std::move(other.prompts.begin(), other.prompts.end(),
              std::back_inserter(file.elsewhere));
  }
  if (files.own.has_value()) {
    file.path = files.own->path;
    file.torn_bytes = files.own->torn_bytes;
    BANYAN_ASSIGN_OR_RETURN(file.writer, RecordWriter::Resume(*files.own));
    file.done = std::move(files.own->prompts);
  } else if (files.empty.has_value()) {
    file.path = *files.empty;
    BANYAN_ASSIGN_OR_RETURN(file.writer,
                            RecordWriter::Replace(file.path, context));
  } else {
    file.path = files.next;
    BANYAN_ASSIGN_OR_RETURN(file.writer,
                            RecordWriter::Create(file.path, context));
  }
  return file;
}

absl::Status ShareRecords(RunFile& file, Communicator& ranks) {
  for (std::vector<records::PromptRecord>* list :
       {&file.done, &file.elsewhere}) {
    std::ostringstream out;
    if (ranks.rank() == 0)
      for (const records::PromptRecord& record : *list)
        google::protobuf::util::SerializeDelimitedToOstream(record, &out);
    BANYAN_ASSIGN_OR_RETURN(const std::string text,
                            Broadcast(ranks, out.str()));
    if (ranks.rank() == 0) continue;
    std::istringstream in(text);
    google::protobuf::io::IstreamInputStream stream(&in);
    records::PromptRecord record;
    for (bool at_end = false;;) {
      record.Clear();
      if (google::protobuf::util::ParseDelimitedFromZeroCopyStream(
              &record, &stream, &at_end))
        list->push_back(record);
      else if (at_end)
        break;
      else
        return absl::DataLossError("rank 0 sent records that are none");
    }
  }
  return absl::OkStatus();
}

}  // namespace banyan
