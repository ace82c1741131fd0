#include "experiments/runner/runner.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/fnv1a.h"
#include "core/base/status_macros.h"
#include "core/random/seeded_source.h"
#include "decode/decoder.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/runner/prepared_cells.h"
#include "experiments/runner/run_context.h"
#include "experiments/runner/to_record.h"

namespace banyan {
namespace {

constexpr int kWarmTokens = 8;

// The order of the cells at a prompt: as good as random, and always the same.
std::vector<std::size_t> OrderAt(const RunTask& task,
                                 const PreparedPrompt& prompt) {
  std::vector<std::pair<std::uint64_t, std::size_t>> keyed;
  for (std::size_t i = 0; i < task.run.cells.size(); ++i)
    keyed.emplace_back(
        Fnv1a(absl::StrCat(task.experiment_hash, "/", prompt.id, "/",
                           task.run.cells[i].description.name())),
        i);
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::size_t> order;
  for (const auto& [key, cell] : keyed) order.push_back(cell);
  return order;
}

std::uint64_t PeakMemory() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

absl::StatusOr<records::PromptRecord> Decode(PreparedCell& cell,
                                             const PreparedPrompt& prompt,
                                             const StopRule& stop,
                                             const Clock& clock) {
  Decoder& decoder = *cell.method.decoder;
  SeededSource random(cell.description.seed());
  records::PromptRecord record;
  record.set_prompt(static_cast<std::uint32_t>(prompt.number));
  record.set_id(prompt.id);
  record.set_kind(prompt.kind);
  for (TokenId token : prompt.tokens)
    record.add_prompt_tokens(static_cast<std::uint32_t>(token));
  const std::int64_t start = clock.NowNs();
  BANYAN_ASSIGN_OR_RETURN(
      Sequence sequence,
      decoder.Begin({.id = static_cast<std::uint32_t>(prompt.number),
                     .tokens = prompt.tokens},
                    stop));
  record.set_prefill_ns(clock.NowNs() - start);
  while (sequence.stopped == StopReason::kNone) {
    BANYAN_ASSIGN_OR_RETURN(const RoundRecord round,
                            decoder.Step(sequence, random));
    AddRound(round, record);
  }
  record.set_stop(ToRecord(sequence.stopped));
  record.set_peak_memory_bytes(PeakMemory());
  return record;
}

absl::Status In(const PreparedCell& cell, const PreparedPrompt& prompt,
                const absl::Status& status) {
  return absl::Status(
      status.code(), absl::StrCat("cell ", cell.description.name(), ", prompt ",
                                  prompt.id, ": ", status.message()));
}

// The prompts of a shard, by their place among all.
std::vector<std::size_t> Places(const RunTask& task) {
  std::vector<std::size_t> places;
  const auto step = static_cast<std::size_t>(task.shard.count);
  for (auto i = static_cast<std::size_t>(task.shard.number);
       i < task.run.prompts.size(); i += step)
    places.push_back(i);
  return places;
}

// Cells that carry state would show the warm-up in their drafts.
absl::Status WarmUp(const RunTask& task) {
  if (task.run.prompts.empty()) return absl::OkStatus();
  const PreparedPrompt& prompt = task.run.prompts.front();
  for (PreparedCell& cell : task.run.cells) {
    if (cell.carries_state) continue;
    StopRule stop = cell.stop;
    stop.max_new_tokens = std::min(kWarmTokens, stop.max_new_tokens);
    const auto warm = Decode(cell, prompt, stop, task.clock);
    if (!warm.ok()) return In(cell, prompt, warm.status());
  }
  return absl::OkStatus();
}

absl::Status CheckShards(const RunTask& task) {
  for (const PreparedCell& cell : task.run.cells)
    if (cell.carries_state && task.shard.count > 1)
      return absl::InvalidArgumentError(absl::StrCat(
          "cell ", cell.description.name(),
          " learns from one prompt for the next: it cannot be run in shards"));
  return absl::OkStatus();
}

// What differs between a file that is there and the run that wants it.
std::string Difference(const records::Context& found,
                       const records::Context& wanted) {
  if (found.experiment_hash() != wanted.experiment_hash())
    return absl::StrCat("another experiment (", found.experiment_hash(),
                        ", not ", wanted.experiment_hash(), ")");
  if (found.workload().hash() != wanted.workload().hash())
    return absl::StrCat("another workload (", found.workload().hash(), ", not ",
                        wanted.workload().hash(), ")");
  if (found.shard() != wanted.shard() || found.shards() != wanted.shards())
    return absl::StrCat("shard ", found.shard(), " of ", found.shards());
  if (found.machine().instruction_set() != wanted.machine().instruction_set())
    return absl::StrCat("a run with ", found.machine().instruction_set(),
                        ", not ", wanted.machine().instruction_set());
  if (found.build().revision() != wanted.build().revision())
    return absl::StrCat("a run of revision ", found.build().revision(),
                        ", not ", wanted.build().revision());
  return "";
}

}  // namespace

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
  RunFile file;
  absl::StatusOr<RecordFile> read = absl::NotFoundError("");
  if (std::filesystem::exists(path, error)) read = ReadRecordFile(path);
  // Killed before its context was whole: there is nothing in it.
  const bool nothing = read.status().code() == absl::StatusCode::kDataLoss;
  if (nothing) std::filesystem::remove(path, error);
  if (nothing || read.status().code() == absl::StatusCode::kNotFound) {
    BANYAN_ASSIGN_OR_RETURN(file.writer, RecordWriter::Create(path, context));
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

absl::Status RunCells(const RunTask& task, RunSink sink) {
  BANYAN_RETURN_IF_ERROR(CheckShards(task));
  std::set<std::pair<std::uint32_t, std::uint32_t>> done;
  for (const records::PromptRecord& record : task.file.done)
    done.emplace(record.cell(), record.prompt());
  const std::vector<std::size_t> places = Places(task);
  const int all = static_cast<int>(places.size() * task.run.cells.size());
  int count = static_cast<int>(done.size());
  if (count < all) BANYAN_RETURN_IF_ERROR(WarmUp(task));
  for (std::size_t place : places) {
    const PreparedPrompt& prompt = task.run.prompts[place];
    std::size_t number = place * task.run.cells.size();
    for (std::size_t index : OrderAt(task, prompt)) {
      const std::size_t order = number++;
      PreparedCell& cell = task.run.cells[index];
      const bool known =
          done.count({static_cast<std::uint32_t>(index),
                      static_cast<std::uint32_t>(prompt.number)}) > 0;
      if (known && !cell.carries_state) continue;
      absl::StatusOr<records::PromptRecord> record =
          Decode(cell, prompt, cell.stop, task.clock);
      if (!record.ok()) return In(cell, prompt, record.status());
      if (known) continue;
      record->set_cell(static_cast<std::uint32_t>(index));
      record->set_order(static_cast<std::uint32_t>(order));
      BANYAN_RETURN_IF_ERROR(task.file.writer->Append(*record));
      sink(*record, ++count, all);
    }
  }
  return absl::OkStatus();
}

}  // namespace banyan
