#include "experiments/run/runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/random/seeded_source.h"
#include "decode/batch_decoder.h"
#include "decode/round.h"
#include "decode/sequence.h"
#include "experiments/plan/fnv1a.h"
#include "experiments/records/machine.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/run_context.h"
#include "experiments/run/to_record.h"

namespace banyan {
namespace {

constexpr int kWarmTokens = 8;

// What one cell decodes at a time: a prompt, or a turn of a chat.
struct Asked {
  const PreparedPrompt* prompt = nullptr;
  int turn = 0;
  int number = 0;  // of the record
  std::vector<TokenId> tokens;
};

// The order of the cells at a prompt: as good as random, and always the same.
std::vector<std::size_t> OrderAt(const RunTask& task,
                                 const PreparedPrompt& prompt) {
  std::vector<std::pair<std::uint64_t, std::size_t>> keyed;
  for (std::size_t i = 0; i < task.run.cells.size(); ++i)
    keyed.emplace_back(
        Mixed(Fnv1a(absl::StrCat(task.experiment_hash, "/", prompt.id, "/",
                                 task.run.cells[i].description.name()))),
        i);
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::size_t> order;
  for (const auto& [key, cell] : keyed) order.push_back(cell);
  return order;
}

// From here on the peak is counted anew, where the system can do that.
void ResetPeakMemory() { std::ofstream("/proc/self/clear_refs") << "5"; }

std::uint64_t PeakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::uint64_t kib = 0;
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "VmHWM:") &&
        absl::SimpleAtoi(absl::StripSuffix(rest, " kB"), &kib))
      return kib * 1024;
  }
  return 0;
}

records::PromptRecord StartRecord(const Asked& asked) {
  records::PromptRecord record;
  record.set_prompt(static_cast<std::uint32_t>(asked.number));
  record.set_id(asked.prompt->id);
  record.set_kind(asked.prompt->kind);
  record.set_turn(static_cast<std::uint32_t>(asked.turn));
  for (TokenId token : asked.tokens)
    record.add_prompt_tokens(static_cast<std::uint32_t>(token));
  return record;
}

// Writes down what a batch decoder does.
class Recorder : public BatchListener {
 public:
  explicit Recorder(const std::vector<Asked>& asked) {
    for (const Asked& one : asked) records_.push_back(StartRecord(one));
  }

  void Admitted(std::size_t prompt, std::int64_t at_ns,
                std::int64_t prefill_ns) override {
    records_[prompt].set_admitted_ns(at_ns);
    records_[prompt].set_prefill_ns(prefill_ns);
  }
  void Round(std::size_t prompt, const RoundRecord& round) override {
    AddRound(round, records_[prompt]);
  }
  void Ended(std::size_t prompt, StopReason reason,
             std::int64_t at_ns) override {
    records_[prompt].set_stop(ToRecord(reason));
    records_[prompt].set_ended_ns(at_ns);
    records_[prompt].set_peak_memory_bytes(PeakMemory());
  }

  std::vector<records::PromptRecord> Take() { return std::move(records_); }

 private:
  std::vector<records::PromptRecord> records_;
};

// What the cell says to all that is asked, as many at a time as its batch is.
absl::StatusOr<std::vector<records::PromptRecord>> Decode(
    PreparedCell& cell, const std::vector<Asked>& asked, const StopRule& stop) {
  SeededSource random(cell.description.seed());
  std::vector<Prompt> prompts;
  for (const Asked& one : asked)
    prompts.push_back(
        {.id = static_cast<std::uint32_t>(one.number), .tokens = one.tokens});
  Recorder recorder(asked);
  ResetPeakMemory();
  BANYAN_RETURN_IF_ERROR(DecodeBatch(*cell.method.decoder, prompts, stop,
                                     cell.batch, random, recorder));
  return recorder.Take();
}

absl::Status In(const PreparedCell& cell, const PreparedPrompt& prompt,
                const absl::Status& status) {
  return absl::Status(
      status.code(), absl::StrCat("cell ", cell.description.name(), ", prompt ",
                                  prompt.id, ": ", status.message()));
}

// Whether the shard has the unit of this number.
bool Has(const Shard& shard, std::size_t unit) {
  return unit % static_cast<std::size_t>(shard.count) ==
         static_cast<std::size_t>(shard.number);
}

// Cells that carry state would show the warm-up in their drafts.
absl::Status WarmUp(const RunTask& task) {
  if (task.run.prompts.empty()) return absl::OkStatus();
  const PreparedPrompt& prompt = task.run.prompts.front();
  for (PreparedCell& cell : task.run.cells) {
    if (cell.carries_state) continue;
    StopRule stop = cell.stop;
    stop.max_new_tokens = std::min(kWarmTokens, stop.max_new_tokens);
    const auto warm =
        Decode(cell, {{&prompt, 0, prompt.number, prompt.tokens}}, stop);
    if (!warm.ok()) return In(cell, prompt, warm.status());
  }
  return absl::OkStatus();
}

// Of the weights that a run reads.
std::string Fingerprints(const records::Context& context) {
  std::string all;
  for (const records::Cell& cell : context.cells()) {
    absl::StrAppend(&all, cell.target().fingerprint());
    for (const records::Model& model : cell.models())
      absl::StrAppend(&all, " ", model.fingerprint());
  }
  return all;
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
    return absl::StrCat(context.machine().cpu(), " with ",
                        context.machine().threads(), " threads");
  };
  if (machine(found) != machine(wanted))
    return absl::StrCat("a run on ", machine(found), ", not ", machine(wanted));
  if (Fingerprints(found) != Fingerprints(wanted))
    return "a run of other weights under the same names";
  return "";
}

// What a cell answered, as the next turn quotes it.
absl::StatusOr<std::string> AnswerText(const PreparedCell& cell,
                                       const records::PromptRecord& record) {
  const std::vector<TokenId> tokens(record.tokens().begin(),
                                    record.tokens().end());
  return cell.target.tokenizer->Decode(tokens, /*skip_special=*/true);
}

class Run {
 public:
  Run(const RunTask& task, RunSink sink) : task_(task), sink_(sink) {
    for (const records::PromptRecord& record : task.file.done)
      done_[{record.cell(), record.prompt()}] = &record;
  }

  absl::Status All() {
    const std::vector<std::vector<std::size_t>> units = task_.run.Units();
    for (std::size_t unit = 0; unit < units.size(); ++unit)
      if (Has(task_.shard, unit)) all_ += RecordsOf(units[unit]);
    count_ = done_.size();
    if (count_ < all_) BANYAN_RETURN_IF_ERROR(WarmUp(task_));
    std::size_t order = 0;  // over all shards
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
      const std::uint32_t batch =
          units.size() < task_.run.prompts.size() ? unit + 1 : 0;
      if (Has(task_.shard, unit))
        BANYAN_RETURN_IF_ERROR(AllTurns(units[unit], batch, order));
      order += RecordsOf(units[unit]);
    }
    return absl::OkStatus();
  }

 private:
  const PreparedPrompt& PromptAt(std::size_t place) const {
    return task_.run.prompts[place];
  }

  std::size_t RecordsOf(const std::vector<std::size_t>& unit) const {
    std::size_t turns = 0;
    for (std::size_t place : unit)
      turns += static_cast<std::size_t>(PromptAt(place).turns());
    return turns * task_.run.cells.size();
  }

  // A unit of several prompts has one turn.
  absl::Status AllTurns(const std::vector<std::size_t>& unit,
                        std::uint32_t batch, std::size_t order) {
    const PreparedPrompt& first = PromptAt(unit.front());
    std::vector<std::vector<std::string>> answers(task_.run.cells.size());
    for (int turn = 0; turn < first.turns(); ++turn)
      for (std::size_t index : OrderAt(task_, first)) {
        const absl::Status status =
            OneTurn({unit, batch, turn, order}, index, answers[index]);
        if (!status.ok()) return In(task_.run.cells[index], first, status);
        order += unit.size();
      }
    return absl::OkStatus();
  }

  struct Turn {
    const std::vector<std::size_t>& unit;
    std::uint32_t batch;  // its number; 0: prompts are decoded alone
    int number;
    std::size_t order;
  };

  absl::Status OneTurn(const Turn& turn, std::size_t index,
                       std::vector<std::string>& answers) {
    PreparedCell& cell = task_.run.cells[index];
    std::vector<Asked> asked;
    for (std::size_t place : turn.unit) {
      const PreparedPrompt& prompt = PromptAt(place);
      asked.push_back(
          {.prompt = &prompt,
           .turn = turn.number,
           .number = prompt.number + turn.number * task_.run.workload_prompts,
           .tokens = prompt.tokens});
      if (turn.number > 0) {
        BANYAN_ASSIGN_OR_RETURN(asked.back().tokens,
                                ChatTokens(cell, prompt, answers));
      }
    }
    // Of a batch the file has all or nothing.
    const auto known =
        done_.find({static_cast<std::uint32_t>(index),
                    static_cast<std::uint32_t>(asked.front().number)});
    const bool is_known = known != done_.end();
    std::vector<records::PromptRecord> records;
    if (!is_known || cell.carries_state) {
      BANYAN_ASSIGN_OR_RETURN(records, Decode(cell, asked, cell.stop));
    }
    if (cell.chat.has_value()) {
      BANYAN_ASSIGN_OR_RETURN(
          std::string answer,
          AnswerText(cell, is_known ? *known->second : records.front()));
      answers.push_back(std::move(answer));
    }
    return is_known ? absl::OkStatus() : Write(turn, index, records);
  }

  absl::Status Write(const Turn& turn, std::size_t index,
                     std::vector<records::PromptRecord>& records) {
    std::size_t order = turn.order;
    for (records::PromptRecord& record : records) {
      record.set_cell(static_cast<std::uint32_t>(index));
      record.set_order(static_cast<std::uint32_t>(order++));
      record.set_batch(turn.batch);
      if (turn.batch > 0)
        record.set_batch_prompts(static_cast<std::uint32_t>(records.size()));
      BANYAN_RETURN_IF_ERROR(task_.file.writer->Append(record));
      sink_(record, static_cast<int>(++count_), static_cast<int>(all_));
    }
    return absl::OkStatus();
  }

  const RunTask& task_;
  RunSink sink_;
  std::map<std::pair<std::uint32_t, std::uint32_t>,
           const records::PromptRecord*>
      done_;  // by cell and prompt
  std::size_t count_ = 0;
  std::size_t all_ = 0;
};

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

absl::Status CheckShards(const PreparedRun& run, const Shard& shard) {
  for (const PreparedCell& cell : run.cells)
    if (cell.carries_state && shard.count > 1)
      return absl::InvalidArgumentError(absl::StrCat(
          "cell ", cell.description.name(),
          " learns from one prompt for the next: it cannot be run in shards"));
  return absl::OkStatus();
}

absl::Status RunCells(const RunTask& task, RunSink sink) {
  return Run(task, sink).All();
}

}  // namespace banyan
