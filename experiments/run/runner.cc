#include "experiments/run/runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/fnv1a.h"
#include "core/base/status_macros.h"
#include "decode/sequence.h"
#include "experiments/records/record.pb.h"
#include "experiments/records/record_file.h"
#include "experiments/run/prepared_cells.h"
#include "experiments/run/recording.h"
#include "experiments/run/run_context.h"
#include "experiments/run/run_file.h"

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
    if (!is_known) {
      BANYAN_ASSIGN_OR_RETURN(records, DecodeAsked(cell, asked, cell.stop));
    } else if (cell.carries_state) {
      BANYAN_RETURN_IF_ERROR(TakeOverAll(index, asked));
    }
    if (cell.chat.has_value()) {
      BANYAN_ASSIGN_OR_RETURN(
          std::string answer,
          AnswerText(cell, is_known ? *known->second : records.front()));
      answers.push_back(std::move(answer));
    }
    return is_known ? absl::OkStatus() : Write(turn, index, records);
  }

  absl::Status TakeOverAll(std::size_t index, const std::vector<Asked>& asked) {
    for (const Asked& one : asked) {
      const auto known = done_.find({static_cast<std::uint32_t>(index),
                                     static_cast<std::uint32_t>(one.number)});
      BANYAN_RETURN_IF_ERROR(TakeOver(task_.run.cells[index], *known->second));
    }
    return absl::OkStatus();
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
