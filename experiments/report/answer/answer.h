// The answer to an experiment's question: for each target and temperature, what
// its rivals are worth against the reference, and whether trees beat chains of
// their own drafters (experiments/plan/opponents.h).
//
// Where an experiment compares nothing, every method is a rival and plain
// decoding the reference. What may be said of a difference is in verdict.h.
#ifndef BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_H_
#define BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/json/json_value.h"
#include "experiments/metrics/estimate.h"
#include "experiments/records/record_set.h"
#include "experiments/report/answer/verdict.h"

namespace banyan {

// Speedup over plain decoding and tokens per pass.
struct CellNumbers {
  const CellRecords* cell = nullptr;
  std::string name;  // the method, and its axes but target and temperature
  std::optional<Estimate> speed;
  std::optional<Estimate> tokens_per_pass;
  // The speedup exceeds tokens per pass by more than the machine's noise, which
  // no method can.
  bool unexplained = false;
};

// A cell against another one, over the prompts of both.
struct AgainstCell {
  CellNumbers other;
  Difference speed;
  Difference tokens_per_pass;
  bool same_nodes = false;  // a chain of as many nodes
};

// A rival at one temperature.
struct AnswerEntry {
  CellNumbers own;
  std::optional<double> level_cost;  // of a drafted level, in plain passes
  std::optional<AgainstCell> reference;
  // Of its own drafters, neighbours that beat the predicted length included;
  // none for a chain.
  std::vector<AgainstCell> chains;
};

struct AnswerRow {
  std::string name;
  std::map<double, AnswerEntry> at;  // by temperature
};

// How many of the rivals that the question is about are faster than what they
// are held against: trees than every chain of their own drafters; without such
// trees, all rivals than the reference.
struct Score {
  int all = 0;
  int more = 0;
  int less = 0;
  std::vector<std::string> winners;  // by name

  int undecided() const { return all - more - less; }
};

// The score at the costs of a file.
struct Outlook {
  std::string where;  // "on an NVIDIA H200"
  std::string file;   // "h200_1b.yaml"
  Score score;
  int unknown = 0;  // rivals whose drafters or sizes have no cost there
};

// What a second run of plain decoding says of the machine.
struct PlainTwice {
  std::optional<Estimate> speed;  // over the first; none: there was none
  bool differs = false;           // by more than chance
  double spread = 1.05;  // the factor that two times of one thing differ by
};

struct TemperatureAnswer {
  bool trees = false;  // what the scores are of
  // The most that a cell has; a chat or a batch is one.
  int prompts = 0;
  Score speed;
  Score tokens_per_pass;
  std::vector<Outlook> outlooks;
  PlainTwice noise;
  // Chains that were faster than the reference, a chain predicted to be the
  // fastest.
  std::vector<CellNumbers> faster_chains;
  // The lossless cell of the highest speedup among those that are shown to be
  // faster than plain decoding, or else among all.
  std::optional<CellNumbers> fastest;
};

struct TargetAnswer {
  std::string name;
  std::string marks;            // that it is grown
  std::vector<AnswerRow> rows;  // in the order of the cells
  std::map<double, TemperatureAnswer> at;
  std::vector<std::string> opening;  // answers the question, in sentences
};

struct Answer {
  std::string question;
  std::string loaded;                // that a machine was, else empty
  std::vector<std::string> refuted;  // claims to be lossless, by their texts
  // How many records there are of how many; equal once the run has ended.
  std::size_t records = 0;
  std::size_t expected = 0;
  int comparisons = 0;                // that verdicts are corrected for
  std::vector<TargetAnswer> targets;  // the largest first
  std::vector<std::string> notes;     // what to know of the numbers
};

Answer MakeAnswer(const RecordSet& set);

// Whether the speedup's interval lies above 1. Requires a speedup.
bool IsShownFaster(const CellNumbers& numbers);

// The worst that a chain of its own drafters does to it: the chain it loses to
// by most, else the one it does least against. Requires chains.
const AgainstCell& WorstChain(const AnswerEntry& entry);

// In lines of 100 columns. The largest target has tables, each other a
// sentence. `more` is told as the way to all numbers.
std::string AnswerText(const Answer& answer, const std::string& more);

JsonValue AnswerToJson(const Answer& answer);

// Whether what was recorded would win elsewhere: scores at the costs that ship
// with the program.

// A rival, by name, and all cells that it has to beat.
struct Contest {
  const CellRecords* rival = nullptr;
  std::string name;
  std::vector<const CellRecords*> others;
};

// One for each shipped file of costs, in a fixed order.
std::vector<Outlook> Outlooks(absl::Span<const Contest> contests);

// An answer in sentences, for the terminal and the page alike.

// Answers the question, two sentences a temperature. The first says yes, no or
// undecided, if the question asks for that: "No: none of 7 trees is faster than
// the chains of its own drafters; 1 is slower, 6 are undecided (16 prompts,
// this machine)." The second says what holds elsewhere: in tokens per pass, and
// at the costs that ship with the program. If `named`, each names the target.
std::vector<std::string> Opening(const std::string& question,
                                 const TargetAnswer& target, bool named);

// What a reader should know of the numbers: the machine's noise, speedups that
// only noise explains, what verdicts rest on, what the reference is and why,
// what "lossless" rests on, rivals that cannot win here, and the set's
// warnings.
std::vector<std::string> Notes(const RecordSet& set, const Answer& answer);

// The fastest lossless methods of a target, in a sentence.
std::string FastestSentence(const TargetAnswer& target, bool largest);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_ANSWER_ANSWER_H_
