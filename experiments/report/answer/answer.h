// The answer to an experiment's question: for each target and temperature, what
// its rivals are worth against the reference, and whether trees beat chains of
// their own drafters (experiments/plan/opponents.h).
//
// Where an experiment compares nothing, every method is a rival and plain
// decoding the reference.
#ifndef BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_H_
#define BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json/json_value.h"
#include "experiments/metrics/bootstrap.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/speed_verdict.h"

namespace banyan {

// The speedup of one cell less that of another, over the prompts of both.
struct AgainstCell {
  const CellRecords* other = nullptr;
  std::string name;               // the other's, as a row's
  std::optional<Estimate> speed;  // the other's
  std::optional<Estimate> tokens_per_pass;
  std::optional<Estimate> difference;
  SpeedVerdict verdict = SpeedVerdict::kTooFew;
};

// A chain of a length beside a predicted one that was faster than that.
struct FasterNeighbour {
  std::string predicted;  // as a row's name
  bool of_own_drafter = false;
  Estimate gain;        // of speedup, over the predicted
  AgainstCell against;  // the rival against the neighbour
};

// A rival at one temperature.
struct AnswerEntry {
  const CellRecords* cell = nullptr;
  std::optional<Estimate> speed;  // speedup over plain decoding
  std::optional<Estimate> tokens_per_pass;
  std::optional<double> level_cost;  // of a drafted level, in plain passes
  AgainstCell reference;
  // Of its own drafters, faster neighbours included; none for a chain.
  std::vector<AgainstCell> chains;
  std::vector<FasterNeighbour> neighbours;
};

struct AnswerRow {
  std::string name;  // the method, and its axes but target and temperature
  std::map<double, AnswerEntry> at;  // by temperature
};

// The fastest lossless cell.
struct FastestCell {
  const CellRecords* cell = nullptr;
  std::string name;  // as a row's
  Estimate speed;
};

struct TargetAnswer {
  std::string name;
  std::string marks;            // that it is grown
  std::size_t prompts = 0;      // the most that a cell has
  std::vector<AnswerRow> rows;  // in the order of the cells
  std::map<double, FastestCell> fastest;
  std::vector<std::string> opening;  // answers the question, in sentences
};

struct Answer {
  std::string question;
  std::vector<std::string> refuted;  // claims to be lossless, by their texts
  // How many records there are of how many; equal once the run has ended.
  std::size_t records = 0;
  std::size_t expected = 0;
  std::vector<TargetAnswer> targets;  // the largest first
  std::vector<std::string> notes;     // what to know of the numbers
};

Answer MakeAnswer(const RecordSet& set);

// The worst that a chain of its own drafters does to it: the chain it loses to
// by most, else the one it does least against. Requires chains.
const AgainstCell& WorstChain(const AnswerEntry& entry);

// Whether the speedup is more than tokens per pass can explain: a pass that
// judges a draft costs at least a plain one.
bool IsUnexplained(const AnswerEntry& entry);

// At most 40 lines of 100 columns: the largest target as a table, each other in
// a sentence. `more` is told as the way to all numbers.
std::string AnswerText(const Answer& answer, const std::string& more);

JsonValue AnswerToJson(const Answer& answer);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_H_
