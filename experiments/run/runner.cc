#include "experiments/run/runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "decode/sequence.h"
#include "experiments/records/record_file.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/recording.h"
#include "experiments/run/schedule.h"

namespace banyan {
namespace {

constexpr int kWarmTokens = 8;

absl::Status In(const PreparedCell& cell, const PreparedPrompt& prompt,
                const absl::Status& status) {
  return absl::Status(
      status.code(), absl::StrCat("cell ", cell.description.name(), ", prompt ",
                                  prompt.id, ": ", status.message()));
}

// Decodes a few tokens with one cell of each setting among `cells`. Cells that
// carry state would show the warm-up in their drafts.
absl::Status WarmUp(const RunTask& task, const std::set<std::size_t>& cells) {
  if (cells.empty()) return absl::OkStatus();
  std::map<std::size_t, std::size_t> chosen;  // cells by setting
  for (const std::size_t i : cells) {
    const PreparedCell& cell = task.run.cells[i];
    if (!cell.carries_state && !cell.open) chosen.emplace(cell.setting, i);
  }
  const PreparedPrompt& prompt = task.run.prompts.front();
  int done = 0;
  for (const auto& [setting, i] : chosen) {
    // A run that is to end writes nothing more.
    if (task.stop != nullptr && task.stop()) return absl::OkStatus();
    if (task.warming != nullptr)
      task.warming(done++, static_cast<int>(chosen.size()));
    PreparedCell& cell = task.run.cells[i];
    StopRule stop = cell.stop;
    stop.max_new_tokens = std::min(kWarmTokens, stop.max_new_tokens);
    const auto warm =
        DecodeAsked(cell, {{&prompt, 0, prompt.number, prompt.tokens}}, stop);
    if (!warm.ok()) return In(cell, prompt, warm.status());
  }
  return absl::OkStatus();
}

// What a cell answered, as the next turn quotes it.
absl::StatusOr<std::string> AnswerText(const PreparedCell& cell,
                                       const records::PromptRecord& record) {
  const std::vector<TokenId> tokens(record.tokens().begin(),
                                    record.tokens().end());
  return cell.target.tokenizer->Decode(tokens, /*skip_special=*/true);
}

using Known = std::map<RecordKey, const records::PromptRecord*>;

Known KnownOf(const std::vector<records::PromptRecord>& records) {
  Known known;
  for (const records::PromptRecord& record : records)
    known[{record.cell(), record.prompt()}] = &record;
  return known;
}

ScheduleInput InputOf(const RunTask& task,
                      const std::vector<std::vector<std::size_t>>& units) {
  ScheduleInput input = {.experiment_hash = task.experiment_hash,
                         .workload_prompts = task.run.workload_prompts};
  for (const PreparedCell& cell : task.run.cells)
    input.cells.push_back(
        {cell.description.name(), cell.description.baseline()});
  for (const std::vector<std::size_t>& unit : units) {
    const PreparedPrompt& first = task.run.prompts[unit.front()];
    ScheduleInput::Unit& to = input.units.emplace_back(
        ScheduleInput::Unit{first.id, first.turns(), {}});
    for (const std::size_t place : unit)
      to.numbers.push_back(task.run.prompts[place].number);
  }
  input.is_mine = [share = Share(task.run, task.shard)](std::size_t cell,
                                                        std::size_t unit) {
    return share.Has(cell, unit);
  };
  for (const auto& [key, record] : KnownOf(task.file.done))
    input.done.insert(key);
  for (const auto& [key, record] : KnownOf(task.file.elsewhere))
    input.elsewhere.insert(key);
  return input;
}

class Run {
 public:
  Run(const RunTask& task, RunSink sink)
      : task_(task),
        sink_(sink),
        units_(task.run.Units()),
        schedule_(InputOf(task, units_)),
        done_(KnownOf(task.file.done)),
        elsewhere_(KnownOf(task.file.elsewhere)),
        answers_(task.run.cells.size()),
        count_(schedule_.known()) {}

  absl::Status All() {
    BANYAN_RETURN_IF_ERROR(WarmUp(task_, schedule_.decoding()));
    for (const Step& step : schedule_.steps()) {
      BANYAN_RETURN_IF_ERROR(CheckStop());
      const absl::Status status = Take(step);
      if (!status.ok())
        return In(task_.run.cells[step.cell],
                  PromptAt(units_[step.unit].front()), status);
    }
    return absl::OkStatus();
  }

 private:
  const PreparedPrompt& PromptAt(std::size_t place) const {
    return task_.run.prompts[place];
  }

  // The record in any file; null if there is none.
  const records::PromptRecord* Find(const RecordKey& key) const {
    for (const Known* known : {&done_, &elsewhere_})
      if (const auto found = known->find(key); found != known->end())
        return found->second;
    return nullptr;
  }

  absl::Status CheckStop() const {
    if (task_.stop == nullptr || count_ >= schedule_.records() || !task_.stop())
      return absl::OkStatus();
    return absl::CancelledError(absl::StrCat(
        "stopped as asked, with ", count_, " of ", schedule_.records(),
        " records; the same command resumes"));
  }

  // Decodes the step's prompts and writes their records, or takes over what the
  // known records taught the cell.
  absl::Status Take(const Step& step) {
    PreparedCell& cell = task_.run.cells[step.cell];
    std::vector<std::string>& answers = answers_[step.cell];
    if (step.turn == 0) answers.clear();
    std::vector<records::PromptRecord> records;
    if (step.decodes) {
      BANYAN_ASSIGN_OR_RETURN(const std::vector<Asked> asked,
                              AskedAt(step, cell, answers));
      BANYAN_ASSIGN_OR_RETURN(OpenCell open, OpenCell::Of(cell));
      if (open.is_new() && cell.carries_state)
        BANYAN_RETURN_IF_ERROR(TakeOverBefore(step, *open));
      BANYAN_ASSIGN_OR_RETURN(records, DecodeAsked(*open, asked, cell.stop));
    } else if (cell.carries_state && !cell.open) {
      BANYAN_RETURN_IF_ERROR(
          TakeOverUnit(step.cell, step.unit, step.turn, cell));
    }
    if (cell.chat.has_value()) {
      const RecordKey key = schedule_.KeyAt(step.cell, step.unit, step.turn);
      BANYAN_ASSIGN_OR_RETURN(
          answers.emplace_back(),
          AnswerText(cell, step.decodes ? records.front() : *Find(key)));
    }
    return Write(step, records);
  }

  absl::StatusOr<std::vector<Asked>> AskedAt(
      const Step& step, const PreparedCell& cell,
      const std::vector<std::string>& answers) const {
    std::vector<Asked> asked;
    for (const std::size_t place : units_[step.unit]) {
      const PreparedPrompt& prompt = PromptAt(place);
      asked.push_back({.prompt = &prompt,
                       .turn = step.turn,
                       .number = schedule_.NumberAt(prompt.number, step.turn),
                       .tokens = prompt.tokens});
      if (step.turn == 0) continue;
      BANYAN_ASSIGN_OR_RETURN(asked.back().tokens,
                              ChatTokens(cell, prompt, answers));
    }
    return asked;
  }

  absl::Status TakeOverUnit(std::size_t index, std::size_t unit, int turn,
                            PreparedCell& cell) const {
    for (const std::size_t place : units_[unit]) {
      const RecordKey key = {static_cast<std::uint32_t>(index),
                             static_cast<std::uint32_t>(schedule_.NumberAt(
                                 PromptAt(place).number, turn))};
      BANYAN_RETURN_IF_ERROR(TakeOver(cell, *Find(key)));
    }
    return absl::OkStatus();
  }

  // What the cell's earlier turns taught it, those of the step's unit too that
  // are known.
  absl::Status TakeOverBefore(const Step& step, PreparedCell& cell) const {
    for (std::size_t unit = 0; unit <= step.unit; ++unit)
      for (int turn = 0; turn < PromptAt(units_[unit].front()).turns(); ++turn)
        if (Find(schedule_.KeyAt(step.cell, unit, turn)) != nullptr)
          BANYAN_RETURN_IF_ERROR(TakeOverUnit(step.cell, unit, turn, cell));
    return absl::OkStatus();
  }

  absl::Status Write(const Step& step,
                     std::vector<records::PromptRecord>& records) {
    std::size_t order = step.order;
    const auto batch = static_cast<std::uint32_t>(
        units_.size() < task_.run.prompts.size() ? step.unit + 1 : 0);
    for (records::PromptRecord& record : records) {
      record.set_cell(static_cast<std::uint32_t>(step.cell));
      record.set_order(static_cast<std::uint32_t>(order++));
      record.set_batch(batch);
      if (batch > 0)
        record.set_batch_prompts(static_cast<std::uint32_t>(records.size()));
      if (task_.file.writer != nullptr)
        BANYAN_RETURN_IF_ERROR(task_.file.writer->Append(record));
      const PreparedCell& cell = task_.run.cells[step.cell];
      if (cell.carries_state && cell.open) {
        written_.push_back(record);
        done_[{record.cell(), record.prompt()}] = &written_.back();
      }
      sink_(record, ++count_, schedule_.records());
    }
    return absl::OkStatus();
  }

  const RunTask& task_;
  RunSink sink_;
  std::vector<std::vector<std::size_t>> units_;  // places of prompts
  Schedule schedule_;
  Known done_;       // in the run's own file
  Known elsewhere_;  // in files of other machines
  // What each cell answered to the turns before, of the chat at hand.
  std::vector<std::vector<std::string>> answers_;
  // Of cells that are opened anew for each turn and learn from the turns
  // before.
  std::list<records::PromptRecord> written_;
  int count_ = 0;
};

}  // namespace

absl::Status RunCells(const RunTask& task, RunSink sink) {
  return Run(task, sink).All();
}

}  // namespace banyan
