#include "experiments/run/runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/common.h"
#include "decode/sequence.h"
#include "experiments/records/record_file.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/recording.h"

namespace banyan {
namespace {

constexpr int kWarmTokens = 8;

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

class Run {
 public:
  Run(const RunTask& task, RunSink sink)
      : task_(task),
        sink_(sink),
        share_(task.run, task.shard),
        units_(task.run.Units()) {
    for (const records::PromptRecord& record : task.file.done)
      done_[{record.cell(), record.prompt()}] = &record;
    for (const records::PromptRecord& record : task.file.elsewhere)
      elsewhere_[{record.cell(), record.prompt()}] = &record;
  }

  absl::Status All() {
    std::set<std::size_t> missing;  // cells with records to come
    for (std::size_t unit = 0; unit < units_.size(); ++unit)
      for (std::size_t cell = 0; cell < task_.run.cells.size(); ++cell)
        for (int turn = 0; turn < PromptAt(units_[unit].front()).turns();
             ++turn)
          if (IsWanted(cell, unit, turn)) {
            all_ += units_[unit].size();
            if (done_.count(KeyAt(cell, unit, turn)) > 0)
              count_ += units_[unit].size();
            else
              missing.insert(cell);
          }
    BANYAN_RETURN_IF_ERROR(WarmUp(task_, missing));
    std::size_t order = 0;  // over all shards
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      BANYAN_RETURN_IF_ERROR(AllTurns(unit, order));
      order += RecordsOf(units_[unit]);
    }
    return absl::OkStatus();
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // cell and prompt
  using Known = std::map<Key, const records::PromptRecord*>;

  const PreparedPrompt& PromptAt(std::size_t place) const {
    return task_.run.prompts[place];
  }

  std::size_t RecordsOf(const std::vector<std::size_t>& unit) const {
    std::size_t turns = 0;
    for (std::size_t place : unit)
      turns += static_cast<std::size_t>(PromptAt(place).turns());
    return turns * task_.run.cells.size();
  }

  int NumberAt(std::size_t place, int turn) const {
    return PromptAt(place).number + turn * task_.run.workload_prompts;
  }

  // Of a batch the files have all or nothing.
  Key KeyAt(std::size_t cell, std::size_t unit, int turn) const {
    return {static_cast<std::uint32_t>(cell),
            static_cast<std::uint32_t>(NumberAt(units_[unit].front(), turn))};
  }

  // Whether the run's own file has the record in the end.
  bool IsWanted(std::size_t cell, std::size_t unit, int turn) const {
    if (!share_.Has(cell, unit)) return false;
    if (elsewhere_.count(KeyAt(cell, unit, turn)) == 0) return true;
    for (std::size_t other = 0; other < task_.run.cells.size(); ++other)
      if (other != cell &&
          task_.run.cells[other].description.baseline() == cell &&
          IsWanted(other, unit, turn))
        return true;
    return false;
  }

  // The record in any file; null if there is none.
  const records::PromptRecord* Find(const Key& key) const {
    for (const Known* known : {&done_, &elsewhere_})
      if (const auto found = known->find(key); found != known->end())
        return found->second;
    return nullptr;
  }

  absl::Status CheckStop() const {
    if (task_.stop == nullptr || count_ >= all_ || !task_.stop())
      return absl::OkStatus();
    return absl::CancelledError(
        absl::StrCat("stopped as asked, with ", count_, " of ", all_,
                     " records; the same command resumes"));
  }

  // A unit of several prompts has one turn.
  absl::Status AllTurns(std::size_t unit, std::size_t order) {
    const PreparedPrompt& first = PromptAt(units_[unit].front());
    std::vector<std::vector<std::string>> answers(task_.run.cells.size());
    for (int turn = 0; turn < first.turns(); ++turn)
      for (std::size_t index : OrderAt(task_, first)) {
        if (share_.Has(index, unit)) {
          BANYAN_RETURN_IF_ERROR(CheckStop());
          const absl::Status status =
              OneTurn({unit, turn, order}, index, answers[index]);
          if (!status.ok()) return In(task_.run.cells[index], first, status);
        }
        order += units_[unit].size();
      }
    return absl::OkStatus();
  }

  struct Turn {
    std::size_t unit;
    int number;
    std::size_t order;
  };

  absl::Status OneTurn(const Turn& turn, std::size_t index,
                       std::vector<std::string>& answers) {
    PreparedCell& cell = task_.run.cells[index];
    std::vector<Asked> asked;
    for (std::size_t place : units_[turn.unit]) {
      const PreparedPrompt& prompt = PromptAt(place);
      asked.push_back({.prompt = &prompt,
                       .turn = turn.number,
                       .number = NumberAt(place, turn.number),
                       .tokens = prompt.tokens});
      if (turn.number > 0) {
        BANYAN_ASSIGN_OR_RETURN(asked.back().tokens,
                                ChatTokens(cell, prompt, answers));
      }
    }
    const Key key = KeyAt(index, turn.unit, turn.number);
    const bool is_known =
        done_.count(key) > 0 || !IsWanted(index, turn.unit, turn.number);
    std::vector<records::PromptRecord> records;
    if (!is_known) {
      BANYAN_ASSIGN_OR_RETURN(OpenCell open, OpenCell::Of(cell));
      if (open.is_new() && cell.carries_state)
        BANYAN_RETURN_IF_ERROR(TakeOverBefore(turn.unit, index, *open));
      BANYAN_ASSIGN_OR_RETURN(records, DecodeAsked(*open, asked, cell.stop));
    } else if (cell.carries_state && !cell.open) {
      BANYAN_RETURN_IF_ERROR(TakeOverUnit(turn.unit, turn.number, index, cell));
    }
    if (cell.chat.has_value()) {
      BANYAN_ASSIGN_OR_RETURN(
          std::string answer,
          AnswerText(cell, is_known ? *Find(key) : records.front()));
      answers.push_back(std::move(answer));
    }
    return is_known ? absl::OkStatus() : Write(turn, index, records);
  }

  absl::Status TakeOverUnit(std::size_t unit, int turn, std::size_t index,
                            PreparedCell& cell) const {
    for (std::size_t place : units_[unit]) {
      const Key key = {static_cast<std::uint32_t>(index),
                       static_cast<std::uint32_t>(NumberAt(place, turn))};
      BANYAN_RETURN_IF_ERROR(TakeOver(cell, *Find(key)));
    }
    return absl::OkStatus();
  }

  // What the cell's earlier turns taught it, those of `unit` too that are
  // known.
  absl::Status TakeOverBefore(std::size_t unit, std::size_t index,
                              PreparedCell& cell) const {
    for (std::size_t before = 0; before <= unit; ++before)
      for (int turn = 0; turn < PromptAt(units_[before].front()).turns();
           ++turn)
        if (Find(KeyAt(index, before, turn)) != nullptr)
          BANYAN_RETURN_IF_ERROR(TakeOverUnit(before, turn, index, cell));
    return absl::OkStatus();
  }

  absl::Status Write(const Turn& turn, std::size_t index,
                     std::vector<records::PromptRecord>& records) {
    std::size_t order = turn.order;
    const std::uint32_t batch =
        units_.size() < task_.run.prompts.size() ? turn.unit + 1 : 0;
    for (records::PromptRecord& record : records) {
      record.set_cell(static_cast<std::uint32_t>(index));
      record.set_order(static_cast<std::uint32_t>(order++));
      record.set_batch(batch);
      if (batch > 0)
        record.set_batch_prompts(static_cast<std::uint32_t>(records.size()));
      if (task_.file.writer != nullptr)
        BANYAN_RETURN_IF_ERROR(task_.file.writer->Append(record));
      const PreparedCell& cell = task_.run.cells[index];
      if (cell.carries_state && cell.open) {
        written_.push_back(record);
        done_[{record.cell(), record.prompt()}] = &written_.back();
      }
      sink_(record, static_cast<int>(++count_), static_cast<int>(all_));
    }
    return absl::OkStatus();
  }

  const RunTask& task_;
  RunSink sink_;
  Share share_;
  std::vector<std::vector<std::size_t>> units_;
  Known done_;       // in the run's own file
  Known elsewhere_;  // in files of other machines
  // Of cells that are opened anew for each turn and learn from the turns
  // before.
  std::list<records::PromptRecord> written_;
  std::size_t count_ = 0;
  std::size_t all_ = 0;
};

}  // namespace

absl::Status RunCells(const RunTask& task, RunSink sink) {
  return Run(task, sink).All();
}

}  // namespace banyan
