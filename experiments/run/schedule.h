// Schedule: what a run decodes, step by step, known before anything is decoded.
//
// Prompts come in the order of the workload, one by one or, where cells decode
// several at a time, in units; for each unit, turn by turn, the cells in an
// order that the experiment and the unit's first prompt fix.
#ifndef BANYAN_EXPERIMENTS_RUN_SCHEDULE_H_
#define BANYAN_EXPERIMENTS_RUN_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace banyan {

// The number of a record's cell, and of its prompt and turn.
using RecordKey = std::pair<std::uint32_t, std::uint32_t>;

struct ScheduleInput {
  struct Cell {
    std::string name;
    std::size_t baseline = 0;  // its number; a baseline's is its own
  };
  // Prompts that are decoded in one go. Several have one turn.
  struct Unit {
    std::string id;  // of the first prompt
    int turns = 1;
    std::vector<int> numbers;  // of the prompts in the workload
  };
  std::string experiment_hash;
  std::vector<Cell> cells;
  std::vector<Unit> units;
  int workload_prompts = 0;  // later turns are numbered from there
  // Whether the run decodes a cell's prompts of a unit (Share).
  std::function<bool(std::size_t cell, std::size_t unit)> is_mine;
  std::set<RecordKey> done;       // in the run's own file
  std::set<RecordKey> elsewhere;  // in files of other machines
};

// One cell's turn on the prompts of one unit.
struct Step {
  std::size_t cell = 0;
  std::size_t unit = 0;
  int turn = 0;
  std::size_t order = 0;  // of its first record, over all shards
  bool decodes = false;   // else its records are known
};

class Schedule {
 public:
  explicit Schedule(ScheduleInput input);

  // The steps of the run's share, in their order.
  const std::vector<Step>& steps() const { return steps_; }
  // The records that the run's own file has in the end, and has before.
  int records() const { return records_; }
  int known() const { return known_; }
  // The cells that have something to decode.
  const std::set<std::size_t>& decoding() const { return decoding_; }

  // The number of a prompt's record at a turn, and the record of a unit's first
  // prompt: of a unit the files have all records or none.
  int NumberAt(int prompt, int turn) const;
  RecordKey KeyAt(std::size_t cell, std::size_t unit, int turn) const;

 private:
  // Whether the run's own file has the unit's records in the end: a baseline
  // that only another machine's file has is decoded again where a cell is held
  // against it here.
  bool IsWanted(std::size_t cell, std::size_t unit, int turn) const;
  std::vector<std::size_t> OrderOf(const std::string& prompt) const;

  ScheduleInput input_;
  std::vector<Step> steps_;
  int records_ = 0;
  int known_ = 0;
  std::set<std::size_t> decoding_;
};

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_RUN_SCHEDULE_H_
