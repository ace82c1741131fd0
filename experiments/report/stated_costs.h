// What recorded rounds would take at costs that a file states of another
// machine:
//
//   passes: [{ms: {1: 20.0, 8: 20.5, 64: 24.0}}]   # a pass, by its tokens
//   levels: [{ms: {small_model: 1.5, ngram: 0}}]   # a level, by drafter
//   rates: {...}                                   # optional, see below
//
// The whole format is that of costs (experiments/plan/costs.h).
//
// Claim. A round whose tree has n nodes, the root and probes counted, and for
// which trunk t drafted L_t levels, takes
//
//   pass(n) + sum over t of L_t level(t),
//
// the cost model of tree/optimize/hardware.h read off the rounds as they were:
// acceptance does not depend on the machine. A round without drafts is
// pass(1), so the baseline needs no rule of its own.
//
// Cases. Sizes between keys are linear, sizes outside them an error, as
// CostCurve has it. A level is one of the tree that was scored, as
// `banyan measure` has it: it counts once however many passes drafted it
// (best_first has one a node), and not at all if nothing of it was kept. Trunks
// draft one after the other. Where several sequences shared the round, n is of
// the whole pass, and each is charged an equal share of it and of its own
// levels. Nothing stands around the passes but what the level has of it.
//
// The oracle's time, of rounds that have one trunk and that nobody shared: had
// a round drafted just the n tokens that were accepted and kept, it would take
//
//   pass(n + 1 and its probes) + n level.
#ifndef BANYAN_EXPERIMENTS_REPORT_STATED_COSTS_H_
#define BANYAN_EXPERIMENTS_REPORT_STATED_COSTS_H_

#include <ostream>
#include <string>
#include <vector>

#include "core/base/common.h"
#include "core/base/params.h"
#include "experiments/plan/costs.h"
#include "experiments/records/record_set.h"
#include "experiments/report/table.h"

namespace banyan {

// Acceptance rates from elsewhere, at the costs of a file: what a chain of
// draft tokens would gain whose acceptance is forced.
//
//   rates:
//     eagle3: {synthetic_acceptance_rates: [0.71, 0.52, 0.4], drafter: eagle}
//
// The entries are those of vLLM's speculative configuration. Entry i of the
// rates is the probability that the first i + 1 draft tokens are all accepted.
//
// Claim. A chain of n draft tokens yields 1 + sum of rates tokens per pass on
// average, and its round takes pass(n + 1) + n level. The speedup over plain
// decoding, a token per pass(1), follows.
struct StatedCosts;

struct StatedRates {
  std::string name;
  Params params;                 // all that it says
  std::vector<double> accepted;  // entry i: at least i + 1 tokens
  std::string drafter;           // whose level counts; empty: not said
};

// The value of the key `rates`. Fails, with file, line and column, on an empty
// list and on rates that are no probabilities or rise.
absl::StatusOr<std::vector<StatedRates>> ReadStatedRates(const Params& value);

// A row for each of the rates: draft tokens, tokens per pass, predicted
// speedup. Fails if the curve does not cover a chain, or a drafter has no cost.
absl::StatusOr<Table> RatesTable(const StatedCosts& costs);

// Writes the rates of every cell that drafts, by name, as JSON: what `rates`
// and vLLM's --speculative-config take. Rate i is the share of the rounds with
// draft tokens that accepted i or more. Of a tree, the rates are those of its
// depths.
absl::Status ExportAcceptance(const RecordSet& set, std::ostream& out);

struct StatedCosts {
  std::string file;  // as it was given
  std::string name;  // its last part, for columns and keys
  Params params;     // all that it says
  Costs tables;      // with passes and levels
  std::vector<StatedRates> rates;
};

// Fails, with file, line and column, on keys and values that cannot be.
absl::StatusOr<StatedCosts> ReadStatedCosts(const std::string& path);

// The same of a text; `file` names it in messages.
absl::StatusOr<StatedCosts> ReadStatedCosts(absl::string_view text,
                                            const std::string& file);

// The cell's prompts with the times of their rounds. Fails as StateTimes.
absl::StatusOr<std::vector<PromptPair>> WithStatedTimes(
    const StatedCosts& costs, const CellRecords& cell);

// Puts the times of their rounds beside all prompts. Warns, in the set, where
// the passes of one target stand for several or for another. Fails if a tree
// is of a size that the curve does not cover, naming the largest, or if a
// drafter of a cell has no cost.
absl::Status StateTimes(const StatedCosts& costs, RecordSet& set);

// The milliseconds of a target pass over `tokens` tokens. Fails, naming the
// place in the file, if the curve does not cover them.
absl::StatusOr<double> PassMs(const PassCosts& passes, int tokens);

// The milliseconds of a drafted level. `drafter` is a name of `banyan list`, or
// empty if nothing names it: then all drafters must have one cost. Fails, at
// `place`, if it has none.
absl::StatusOr<double> LevelMsOf(const StatedCosts& costs,
                                 const std::string& drafter,
                                 const Params& place);

// What a reader must know before believing the numbers, in one sentence.
std::string Assumption(const StatedCosts& costs);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_REPORT_STATED_COSTS_H_
